import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BloomFilter } from './bloom-filter.ts'

const keyOf = (n: number): Buffer => Buffer.from(`bucket/key ${n}`)

test('every added key is found, and few others are', () => {
  const set = new BloomFilter()
  assert(!set.mayHave(keyOf(0)))
  for (let n = 0; n < 50_000; n++) set.add(keyOf(n))
  let wrong = 0
  for (let n = 0; n < 50_000; n++) {
    assert(set.mayHave(keyOf(n)))
    if (set.mayHave(keyOf(-1 - n))) wrong++
  }
  assert(wrong < 500, `${wrong} of 50000`)
})

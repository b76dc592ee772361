import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RecordCache } from './record-cache.ts'

test('what is kept keeps nothing but itself: neither the memory that it was cut from, nor what was made of it', () => {
  const lately = new RecordCache()
  const slab = Buffer.alloc(64 * 1024, 7)
  const key = Buffer.from('key')
  const read = { bytes: slab.subarray(0, 10) }
  lately.set('key', { key, value: slab.subarray(100, 200), stamp: 5, read })
  const kept = lately.get('key')!
  assert.deepEqual(kept, { key, value: Buffer.alloc(100, 7), stamp: 5 })
  assert.notEqual(kept.value.buffer, slab.buffer)
})

test('large records are not kept, and of the others the oldest goes first', () => {
  const lately = new RecordCache()
  const note = (name: string, bytes = 1): void =>
    lately.set(name, { key: Buffer.from(name), value: Buffer.alloc(bytes), stamp: 1 })
  note('large', 1_025)
  assert.equal(lately.get('large'), undefined)
  for (let n = 0; n < 1_001; n++) note(`${n}`, 1_024)
  assert.equal(lately.get('0'), undefined)
  assert.equal(lately.get('1')?.value.length, 1_024)
})

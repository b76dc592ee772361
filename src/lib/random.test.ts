import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ids } from './ids.ts'
import { seededRandom, systemRandom } from './random.ts'

test('returned bytes never change and never repeat', () => {
  const seen = new Map<string, Buffer>()
  for (let i = 0; i < 2_000; i++) {
    const bytes = systemRandom.bytes(i % 2 === 0 ? 16 : 2_000)
    seen.set(bytes.toString('hex'), bytes)
  }
  assert.equal(seen.size, 2_000)
  for (const [hex, bytes] of seen) assert.equal(bytes.toString('hex'), hex)
})

test('a seed is repeatable', () => {
  const [a, b, c] = [seededRandom(7), seededRandom(7), seededRandom(8)]
  const first = a.bytes(32)
  assert.deepEqual(first, b.bytes(32))
  assert.notDeepEqual(first, c.bytes(32))
  const fraction = a.fraction()
  assert(fraction >= 0 && fraction < 1)
  assert.equal(fraction, b.fraction())
})

test('ids sort in creation order and identify their process', () => {
  const mine = new Ids(systemRandom)
  const made = Array.from({ length: 1_000 }, () => mine.next())
  for (const [i, id] of made.entries()) {
    assert.equal(id.length, 16)
    assert(mine.isMine(id))
    if (i > 0) assert(made[i - 1]!.compare(id) < 0)
  }
  assert(!new Ids(systemRandom).isMine(made[0]!))
})

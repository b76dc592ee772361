import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BufferPool } from './buffer-pool.ts'

const KIB = 1024

test('a buffer comes again when every byte of it was given back, and not before', () => {
  const buffers = new BufferPool(2 ** 20)
  const first = buffers.acquire(100 * KIB)
  buffers.release(first.subarray(0, 60 * KIB))
  buffers.release(first.subarray(60 * KIB, 100 * KIB - 1))
  assert.notEqual(buffers.acquire(100 * KIB).buffer, first.buffer)
  buffers.release(first.subarray(100 * KIB - 1))
  assert.equal(buffers.acquire(128 * KIB).buffer, first.buffer)
})

test('of a buffer that is used in part, that part has to come back', () => {
  const buffers = new BufferPool(2 ** 20)
  const lent = buffers.acquire(64 * KIB, 1000)
  assert.equal(lent.length, 64 * KIB)
  buffers.release(lent.subarray(500, 1499))
  assert.notEqual(buffers.acquire(64 * KIB).buffer, lent.buffer)
  buffers.release(lent.subarray(1499, 1500))
  assert.equal(buffers.acquire(64 * KIB).buffer, lent.buffer)
})

test('a buffer of which more comes back than was lent is left alone', () => {
  const buffers = new BufferPool(2 ** 20)
  const lent = buffers.acquire(64 * KIB)
  buffers.release(lent.subarray(1))
  buffers.release(lent.subarray(1))
  assert.notEqual(buffers.acquire(64 * KIB).buffer, lent.buffer)
})

test('what was not lent, or was given back already, is nobody’s business', () => {
  const buffers = new BufferPool(2 ** 20)
  const own = Buffer.allocUnsafeSlow(64 * KIB)
  buffers.release(own)
  const lent = buffers.acquire(64 * KIB)
  assert.notEqual(lent.buffer, own.buffer)
  buffers.release(lent)
  buffers.release(lent)
  assert.equal(buffers.acquire(64 * KIB).buffer, lent.buffer)
  assert.notEqual(buffers.acquire(64 * KIB).buffer, lent.buffer)
})

test('no more is kept than was said', () => {
  const buffers = new BufferPool(256 * KIB)
  const lent = Array.from({ length: 6 }, () => buffers.acquire(64 * KIB))
  for (const buffer of lent) buffers.release(buffer)
  const again = new Set(Array.from({ length: 6 }, () => buffers.acquire(64 * KIB).buffer))
  assert.equal(lent.filter(buffer => again.has(buffer.buffer)).length, 4)
})

test('whatever is lent and given back, in any order, no two hold the same bytes', () =>
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 600 })), { maxLength: 60 }), steps => {
      const buffers = new BufferPool(2 ** 20)
      const held: { bytes: Buffer; left: number }[] = []
      for (const [what, kib] of steps) {
        const some = held[kib % Math.max(1, held.length)]
        if (what === 0 || some === undefined) {
          const bytes = buffers.acquire(kib * KIB)
          assert.equal(bytes.length, kib * KIB)
          assert.ok(held.every(other => other.bytes.buffer !== bytes.buffer))
          held.push({ bytes, left: bytes.length })
          continue
        }
        const count = what === 1 ? some.left : Math.min(some.left, KIB)
        buffers.release(some.bytes.subarray(some.bytes.length - some.left).subarray(0, count))
        some.left -= count
        if (some.left === 0) held.splice(held.indexOf(some), 1)
      }
    }),
  ))

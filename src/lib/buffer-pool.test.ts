import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CHUNK_BYTES, returnChunk, Slab, takeChunk } from './buffer-pool.ts'
import { REPORTS_WRITTEN_BYTES } from './runtime.ts'

test('a returned chunk is used again, by any part of it, and only once', () => {
  const first = takeChunk(CHUNK_BYTES)
  returnChunk(first.subarray(100, 200))
  returnChunk(first)
  const second = takeChunk(CHUNK_BYTES - 1)
  const third = takeChunk(CHUNK_BYTES)
  assert.equal(second.buffer === first.buffer, REPORTS_WRITTEN_BYTES)
  assert.notEqual(third.buffer, first.buffer)
  assert.equal(second.length, CHUNK_BYTES - 1)
})

test('buffers from elsewhere are ignored, and short or long ones are not pooled', () => {
  const foreign = Buffer.alloc(CHUNK_BYTES)
  const short = takeChunk(1000)
  const long = takeChunk(CHUNK_BYTES + 1)
  assert.deepEqual([short.length, long.length], [1000, CHUNK_BYTES + 1])
  for (const buffer of [foreign, short, long]) returnChunk(buffer)
  assert(![foreign.buffer, short.buffer, long.buffer].includes(takeChunk(CHUNK_BYTES).buffer))
})

test('a chunk serves shorter requests of its size and none of another', () => {
  const first = takeChunk(50_000)
  returnChunk(first)
  assert.notEqual(takeChunk(32_768).buffer, first.buffer)
  assert.notEqual(takeChunk(65_537).buffer, first.buffer)
  assert.equal(takeChunk(65_536).buffer === first.buffer, REPORTS_WRITTEN_BYTES)
})

test('no memory is handed out twice before it is returned', () => {
  const step = fc.oneof(
    fc.record({ take: fc.integer({ min: 1, max: CHUNK_BYTES + 1 }) }),
    fc.record({ giveBack: fc.nat(50) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), steps => {
      const taken: Buffer[] = []
      for (const now of steps) {
        if ('take' in now) {
          const chunk = takeChunk(now.take)
          assert.equal(chunk.length, now.take)
          assert(taken.every(other => other.buffer !== chunk.buffer))
          taken.push(chunk)
        } else {
          const [chunk] = taken.splice(now.giveBack, 1)
          if (chunk !== undefined) returnChunk(chunk)
        }
      }
      for (const chunk of taken) returnChunk(chunk)
    }),
  )
})

test('buffers of a slab have their length and never overlap', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 80 }), { maxLength: 50 }), lengths => {
      const slab = new Slab(128)
      const pieces = lengths.map((length, i) => slab.cut(length).fill(i))
      for (const [i, piece] of pieces.entries()) {
        assert.equal(piece.length, lengths[i])
        assert(piece.every(byte => byte === i))
      }
    }),
  )
})

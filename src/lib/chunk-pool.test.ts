import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHUNK_BYTES, returnChunk, takeChunk } from './chunk-pool.ts'
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

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { free } from './collector.ts'

const canFree = 'transfer' in ArrayBuffer.prototype

test('a buffer that is free has given back its memory, where the runtime can do that', () => {
  const bytes = Buffer.from(new Uint8Array(100_000).fill(7).buffer)
  free(bytes)
  assert.equal(bytes.length, canFree ? 0 : 100_000)
})

test('of memory that others have a view of, nothing is taken away', () => {
  const whole = Buffer.alloc(100_000, 7)
  free(whole.subarray(1))
  free(whole.subarray(0, -1))
  assert.deepEqual(whole, Buffer.alloc(100_000, 7))
})

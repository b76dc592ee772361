import assert from 'node:assert/strict'
import { test } from 'node:test'
import { releaseBuffer } from './gc-pressure.ts'

test('a buffer that is free has given back its memory, however many there are', () => {
  for (let n = 0; n < 10; n++) {
    const bytes = Buffer.from(new Uint8Array(100_000).fill(7).buffer)
    releaseBuffer(bytes)
    assert.equal(bytes.length, 0)
  }
})

test('a buffer that is short, or a piece of what the runtime hands out, is left alone', () => {
  // The pool has 8 KiB up to Node 22, and 64 KiB since.
  for (const bytes of [Buffer.alloc(8 * 1024, 7), Buffer.allocUnsafe(Buffer.poolSize / 4).fill(7)]) {
    const { length } = bytes
    releaseBuffer(bytes)
    assert.equal(bytes.length, length)
    assert(bytes.every(byte => byte === 7))
  }
})

test('of memory that others have a view of, nothing is taken away', () => {
  const whole = Buffer.alloc(100_000, 7)
  releaseBuffer(whole.subarray(1))
  releaseBuffer(whole.subarray(0, -1))
  assert(whole.equals(Buffer.alloc(100_000, 7)))
})

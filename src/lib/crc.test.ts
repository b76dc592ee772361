import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 as native } from '@node-rs/crc32'
import fc from 'fast-check'
import { crc32, crc32Of } from './crc.ts'

test('every runtime computes the same CRC, at once or incrementally', () => {
  // The check value of CRC-32/ISO-HDLC.
  assert.equal(crc32(Buffer.from('123456789')), 0xcbf43926)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000 }), fc.uint8Array({ maxLength: 200 }), (first, second) => {
      const whole = Buffer.concat([first, second])
      assert.equal(crc32(second, crc32(first)), native(whole))
    }),
  )
})

test('the CRC of a range depends on its bytes alone, short or long', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.nat(200),
      fc.nat(200),
      fc.nat(2 ** 32 - 1),
      (bytes, a, b, seed) => {
        const [start, end] = [Math.min(a, b, bytes.length), Math.min(Math.max(a, b), bytes.length)]
        const inside = Buffer.concat([Buffer.of(1, 2, 3), bytes]).subarray(3)
        assert.equal(crc32Of(inside, start, end, seed) >>> 0, crc32(bytes.subarray(start, end), seed) >>> 0)
      },
    ),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { crc64 } from './crc64.ts'

const CRC64_NVME = 0x9a6c9329ac4bc9b5n

/** A bit at a time: slow, and too simple to be wrong. */
function bitByBit(bytes: Uint8Array): bigint {
  let crc = 0xffff_ffff_ffff_ffffn
  for (const byte of bytes) {
    crc ^= BigInt(byte)
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1n) === 1n ? (crc >> 1n) ^ CRC64_NVME : crc >> 1n
  }
  return crc ^ 0xffff_ffff_ffff_ffffn
}

test('the CRC-64 has the check value of its catalogue entry', () => {
  assert.equal(crc64(Buffer.from('123456789')), 0xae8b14860a799888n)
  assert.equal(crc64(Buffer.alloc(0)), 0n)
  assert.equal(crc64(Buffer.from('aaa')).toString(16), '467af6ff93fb1ac9')
})

test('the CRC equals the bitwise computation, for every length and split', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), (bytes, cut) => {
      const expected = bitByBit(bytes)
      assert.equal(crc64(bytes), expected)
      assert.equal(crc64(bytes.subarray(cut), crc64(bytes.subarray(0, cut))), expected)
    }),
  )
})

test('a long input in pieces of any alignment', () => {
  const bytes = Buffer.alloc(200_003, 'holdfast')
  const expected = bitByBit(bytes)
  assert.equal(crc64(bytes), expected)
  let crc = 0n
  for (let at = 0; at < bytes.length; at += 65_537) crc = crc64(bytes.subarray(at, at + 65_537), crc)
  assert.equal(crc, expected)
})

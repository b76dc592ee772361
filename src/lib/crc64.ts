/** CRC-64/NVME by eight lookups per eight bytes, in halves of 32 bits: 64-bit integers are slow in JavaScript. */

const POLYNOMIAL_HIGH = 0x9a6c9329
const POLYNOMIAL_LOW = 0xac4bc9b5
const STEP = 8

/** Entry `256 * n + byte`: the byte's effect on the CRC when n more bytes follow it. */
const HIGH = new Int32Array(STEP * 256)
const LOW = new Int32Array(STEP * 256)
for (let byte = 0; byte < 256; byte++) {
  let high = 0
  let low = byte
  for (let bit = 0; bit < 8; bit++) {
    const isOdd = (low & 1) === 1
    low = (low >>> 1) | (high << 31)
    high >>>= 1
    if (!isOdd) continue
    high ^= POLYNOMIAL_HIGH
    low ^= POLYNOMIAL_LOW
  }
  HIGH[byte] = high
  LOW[byte] = low
}
for (let i = 256; i < HIGH.length; i++) {
  const high = HIGH[i - 256]!
  const low = LOW[i - 256]!
  HIGH[i] = (high >>> 8) ^ HIGH[low & 0xff]!
  LOW[i] = ((low >>> 8) | (high << 24)) ^ LOW[low & 0xff]!
}

const word = (bytes: Uint8Array, at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)

/** The CRC of what gave `crc` followed by `bytes`; start from 0. */
export function crc64(bytes: Uint8Array, crc = 0n): bigint {
  let high = ~Number(crc >> 32n)
  let low = ~Number(crc & 0xffff_ffffn)
  let at = 0
  for (; at + STEP <= bytes.length; at += STEP) {
    const first = low ^ word(bytes, at)
    const second = high ^ word(bytes, at + 4)
    const a = 0x700 + (first & 0xff)
    const b = 0x600 + ((first >>> 8) & 0xff)
    const c = 0x500 + ((first >>> 16) & 0xff)
    const d = 0x400 + (first >>> 24)
    const e = 0x300 + (second & 0xff)
    const f = 0x200 + ((second >>> 8) & 0xff)
    const g = 0x100 + ((second >>> 16) & 0xff)
    const h = second >>> 24
    high = HIGH[a]! ^ HIGH[b]! ^ HIGH[c]! ^ HIGH[d]! ^ HIGH[e]! ^ HIGH[f]! ^ HIGH[g]! ^ HIGH[h]!
    low = LOW[a]! ^ LOW[b]! ^ LOW[c]! ^ LOW[d]! ^ LOW[e]! ^ LOW[f]! ^ LOW[g]! ^ LOW[h]!
  }
  for (; at < bytes.length; at++) {
    const index = (low ^ bytes[at]!) & 0xff
    low = ((low >>> 8) | (high << 24)) ^ LOW[index]!
    high = (high >>> 8) ^ HIGH[index]!
  }
  return (BigInt(~high >>> 0) << 32n) | BigInt(~low >>> 0)
}

import zlib from 'node:zlib'
import { crc32 as native } from '@node-rs/crc32'

/** Each runtime's fastest by measurement: Bun's own is five times as fast as the package, Node's own a fifth of it. */
const fastest: (bytes: Uint8Array, seed: number) => number =
  process.versions.bun === undefined ? (bytes, seed) => native(bytes as Buffer, seed) : zlib.crc32

/**
 * CRC-32 (IEEE), the check that every stored record and frame carries. Chosen over CRC-32C by measurement:
 * the same native package computes it four times as fast, and both detect every error burst of up to 32 bits.
 */
export function crc32(bytes: Uint8Array, seed = 0): number {
  return fastest(bytes, seed)
}

/** Up to here a loop is done before a call of the other has begun. */
const SHORT_BYTES_MAX = 64

/** The CRC-32 of each byte alone. */
const OF_BYTE = new Int32Array(256)
for (let byte = 0; byte < 256; byte++) {
  let rest = byte
  for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0)
  OF_BYTE[byte] = rest
}

/** The same of a stretch of a buffer. */
export function crc32Of(bytes: Uint8Array, start: number, end: number, seed = 0): number {
  if (end - start > SHORT_BYTES_MAX) {
    return fastest(new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start), seed)
  }
  let crc = ~seed
  for (let at = start; at < end; at++) crc = (crc >>> 8) ^ OF_BYTE[(crc ^ bytes[at]!) & 0xff]!
  return ~crc >>> 0
}

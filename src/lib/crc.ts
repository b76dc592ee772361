import zlib from 'node:zlib'
import { crc32 as native } from '@node-rs/crc32'
import { HAS_FASTEST_CRC32 } from './runtime.ts'

/** The fastest implementation of each runtime, as measured. */
const fastest: (bytes: Uint8Array, seed: number) => number = HAS_FASTEST_CRC32
  ? zlib.crc32
  : (bytes, seed) => native(bytes as Buffer, seed)

/**
 * CRC-32 (IEEE), stored with every record and frame. Chosen over CRC-32C by measurement: the same native package
 * computes it four times as fast, and both detect every error burst of up to 32 bits.
 */
export function crc32(bytes: Uint8Array, seed = 0): number {
  return fastest(bytes, seed)
}

/** Up to this length the table loop is faster than a native call. */
const SHORT_BYTES_MAX = 96

type I = Int32Array
/** Slicing-by-8 tables: the effect of a byte on the CRC when n other bytes follow it. */
const TABLES = Array.from({ length: 8 }, () => new Int32Array(256))
const [T0, T1, T2, T3, T4, T5, T6, T7] = TABLES as [I, I, I, I, I, I, I, I]
for (let byte = 0; byte < 256; byte++) {
  let rest = byte
  for (let n = 0; n < 8; n++) {
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0)
    TABLES[n]![byte] = rest
  }
}

/** The CRC-32 of a range. Eight bytes at a time, which is twice as fast as one by one. */
export function crc32Of(bytes: Uint8Array, start: number, end: number, seed = 0): number {
  if (end - start > SHORT_BYTES_MAX) {
    return fastest(new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start), seed)
  }
  let crc = ~seed
  let at = start
  for (; at + 8 <= end; at += 8) {
    crc =
      T7[(crc ^ bytes[at]!) & 0xff]! ^
      T6[((crc >>> 8) ^ bytes[at + 1]!) & 0xff]! ^
      T5[((crc >>> 16) ^ bytes[at + 2]!) & 0xff]! ^
      T4[(crc >>> 24) ^ bytes[at + 3]!]! ^
      T3[bytes[at + 4]!]! ^
      T2[bytes[at + 5]!]! ^
      T1[bytes[at + 6]!]! ^
      T0[bytes[at + 7]!]!
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ T0[(crc ^ bytes[at]!) & 0xff]!
  return ~crc >>> 0
}

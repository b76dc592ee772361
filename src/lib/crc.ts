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

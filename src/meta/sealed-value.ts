/**
 * LMDB's pages carry no checksum, so every value carries its own: CRC-32 over the key and the value, then the value.
 * The key is part of it because a damaged page can also lead a search to a whole record of another key.
 */
import { crc32 } from '../lib/crc.ts'
import { Slab } from '../lib/slab.ts'
import { DamagedRecord } from './meta.ts'

export const SEAL_BYTES = 4

const checksum = (key: Buffer, value: Buffer): number => crc32(value, crc32(key)) >>> 0

/**
 * Sealed values are cut from slabs: lmdb-js asks the runtime for the address of every new ArrayBuffer it meets, and
 * that together with making one costs more than the copy and the checksum.
 */
const slab = new Slab(2 ** 20)

/** A new buffer: the engine reads it from another thread, so it must not be the caller's. */
export function seal(key: Buffer, value: Buffer): Buffer {
  const out = slab.cut(SEAL_BYTES + value.length)
  out.writeUInt32BE(checksum(key, value), 0)
  out.set(value, SEAL_BYTES)
  return out
}

/**
 * What is read is cut from these. They are small, since bytes that stand in a record live as long as their reader takes
 * to get them, and their slab with them.
 */
const readSlab = new Slab(2 ** 16)

export interface Unsealed {
  readonly key: Buffer
  readonly value: Buffer
}

/**
 * Copies of a key and of what is sealed under it, from memory that will be overwritten. They lie side by side, so that
 * one checksum goes over both: it is the same as that of one after the other.
 */
export function unsealed(keyIn: Uint8Array, start: number, end: number, sealed: Uint8Array, length: number): Unsealed {
  const keyBytes = end - start
  const valueBytes = Math.max(0, length - SEAL_BYTES)
  const both = readSlab.cut(keyBytes + valueBytes)
  // Keys are short: a loop costs less than another view of them.
  for (let i = 0; i < keyBytes; i++) both[i] = keyIn[start + i]!
  if (valueBytes > 0) both.set(new Uint8Array(sealed.buffer, sealed.byteOffset + SEAL_BYTES, valueBytes), keyBytes)
  const key = both.subarray(0, keyBytes)
  const expected = ((sealed[0]! << 24) | (sealed[1]! << 16) | (sealed[2]! << 8) | sealed[3]!) >>> 0
  if (length < SEAL_BYTES || crc32(both) >>> 0 !== expected) throw new DamagedRecord(Buffer.from(key))
  return { key, value: both.subarray(keyBytes) }
}

/** A copy of the value that is sealed under this key. */
export const unseal = (key: Buffer, sealed: Uint8Array): Buffer =>
  unsealed(key, 0, key.length, sealed, sealed.length).value

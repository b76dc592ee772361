/**
 * LMDB's pages have no checksum, so every value carries its own: CRC-32 over key and value, then the value. The key is
 * included because a damaged page can also lead a search to an intact record of another key.
 */

import type { ByteSpan } from '../../lib/bytes.ts'
import { crc32, crc32Of } from '../../lib/crc.ts'
import { Slab } from '../../lib/slab.ts'
import { DamagedRecord, type Entry, type EntryView } from '../meta.ts'

export const CHECKSUM_BYTES = 4

/**
 * Sealed values are allocated from slabs: lmdb-js asks the runtime for the address of every new ArrayBuffer, which
 * together with its allocation costs more than copy and checksum.
 */
const slab = new Slab(2 ** 20)

/** A new buffer, because the engine reads it from another thread. */
export function addChecksum(key: Buffer, value: Buffer): Buffer {
  const out = slab.cut(CHECKSUM_BYTES + value.length)
  out.writeUInt32BE(crc32Of(value, 0, value.length, crc32Of(key, 0, key.length)) >>> 0, 0)
  out.set(value, CHECKSUM_BYTES)
  return out
}

/**
 * Values read are allocated from these. They are small, since inline bytes live until their client has received them,
 * and keep their slab alive.
 */
const readSlab = new Slab(2 ** 16)

/** The engine reads everything into the same memory and returns the same array, whose `length` it sets. */
class EngineSpan implements ByteSpan {
  #source: Uint8Array | undefined
  bytes: Buffer = Buffer.alloc(0)
  start = 0
  end = 0

  set(source: Uint8Array, start: number, end: number): void {
    if (source !== this.#source) {
      this.#source = source
      this.bytes = Buffer.from(source.buffer as ArrayBuffer, source.byteOffset, source.byteLength)
    }
    this.start = start
    this.end = end
  }

  copyTo(out: Buffer, at: number): void {
    const { bytes, start, end } = this
    if (end > start) out.set(new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start), at)
  }
}

const storedChecksum = (sealed: Uint8Array): number =>
  ((sealed[0]! << 24) | (sealed[1]! << 16) | (sealed[2]! << 8) | sealed[3]!) >>> 0

/** The record read last, in the engine's buffer. */
export class VerifiedRecord implements EntryView {
  readonly key = new EngineSpan()
  readonly value = new EngineSpan()
  stamp = 0
  #hasChecksum = false

  /** `sealed` is valid up to `length`. Nothing is verified yet. */
  open(sealed: Uint8Array, length: number, stamp: number): this {
    this.value.set(sealed, CHECKSUM_BYTES, Math.max(CHECKSUM_BYTES, length))
    this.#hasChecksum = length >= CHECKSUM_BYTES
    this.stamp = stamp
    return this
  }

  /** Verifies the whole record. */
  mustBeSound(): void {
    const { key, value } = this
    const { bytes } = value
    const found = crc32Of(bytes, value.start, value.end, crc32Of(key.bytes, key.start, key.end)) >>> 0
    if (!this.#hasChecksum || found !== storedChecksum(bytes)) {
      throw new DamagedRecord(Buffer.from(key.bytes.subarray(key.start, key.end)))
    }
  }

  /** Copies key and value into one buffer. */
  copy(): Entry {
    const { bytes, start, end } = this.key
    const keyBytes = end - start
    const both = readSlab.cut(keyBytes + this.value.end - this.value.start)
    // Keys are short: a loop costs less than another view.
    for (let i = 0; i < keyBytes; i++) both[i] = bytes[start + i]!
    this.value.copyTo(both, keyBytes)
    return { key: both.subarray(0, keyBytes), value: both.subarray(keyBytes), stamp: this.stamp }
  }
}

/** Verifies and copies the value sealed under this key. */
export function verifyChecksum(key: Buffer, sealed: Uint8Array): Buffer {
  const { length } = sealed
  const value = readSlab.cut(Math.max(0, length - CHECKSUM_BYTES))
  if (value.length > 0) value.set(new Uint8Array(sealed.buffer, sealed.byteOffset + CHECKSUM_BYTES, value.length))
  const found = crc32(value, crc32Of(key, 0, key.length)) >>> 0
  if (length < CHECKSUM_BYTES || found !== storedChecksum(sealed)) throw new DamagedRecord(Buffer.from(key))
  return value
}

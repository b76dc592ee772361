/**
 * LMDB's pages carry no checksum, so every value carries its own: CRC-32 over the key and the value, then the value.
 * The key is part of it because a damaged page can also lead a search to a whole record of another key.
 */

import type { ByteSpan } from '../../lib/bytes.ts'
import { crc32, crc32Of } from '../../lib/crc.ts'
import { Slab } from '../../lib/slab.ts'
import { DamagedRecord, type Entry, type EntryView } from '../meta.ts'

export const SEAL_BYTES = 4

/**
 * Sealed values are cut from slabs: lmdb-js asks the runtime for the address of every new ArrayBuffer it meets, and
 * that together with making one costs more than the copy and the checksum.
 */
const slab = new Slab(2 ** 20)

/** A new buffer: the engine reads it from another thread, so it must not be the caller's. */
export function sealValue(key: Buffer, value: Buffer): Buffer {
  const out = slab.cut(SEAL_BYTES + value.length)
  out.writeUInt32BE(crc32Of(value, 0, value.length, crc32Of(key, 0, key.length)) >>> 0, 0)
  out.set(value, SEAL_BYTES)
  return out
}

/**
 * What is read is cut from these. They are small, since bytes that stand in a record live as long as their reader takes
 * to get them, and their slab with them.
 */
const readSlab = new Slab(2 ** 16)

/** The engine reads everything into the same memory and hands out the same array, whose `length` it sets by hand. */
class Place implements ByteSpan {
  #engines: Uint8Array | undefined
  bytes: Buffer = Buffer.alloc(0)
  start = 0
  end = 0

  set(engines: Uint8Array, start: number, end: number): void {
    if (engines !== this.#engines) {
      this.#engines = engines
      this.bytes = Buffer.from(engines.buffer as ArrayBuffer, engines.byteOffset, engines.byteLength)
    }
    this.start = start
    this.end = end
  }

  copyTo(out: Buffer, at: number): void {
    const { bytes, start, end } = this
    if (end > start) out.set(new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start), at)
  }
}

const expectedOf = (sealed: Uint8Array): number =>
  ((sealed[0]! << 24) | (sealed[1]! << 16) | (sealed[2]! << 8) | sealed[3]!) >>> 0

/** The record that was read last, where the engine has it. */
export class OpenedRecord implements EntryView {
  readonly key = new Place()
  readonly value = new Place()
  stamp = 0
  #isLongEnough = false

  /** `sealed` is as much of its array as `length` says. Nothing is checked yet. */
  open(sealed: Uint8Array, length: number, stamp: number): this {
    this.value.set(sealed, SEAL_BYTES, Math.max(SEAL_BYTES, length))
    this.#isLongEnough = length >= SEAL_BYTES
    this.stamp = stamp
    return this
  }

  /** Checks all of it. */
  mustBeSound(): void {
    const { key, value } = this
    const { bytes } = value
    const found = crc32Of(bytes, value.start, value.end, crc32Of(key.bytes, key.start, key.end)) >>> 0
    if (!this.#isLongEnough || found !== expectedOf(bytes)) {
      throw new DamagedRecord(Buffer.from(key.bytes.subarray(key.start, key.end)))
    }
  }

  /** A copy, side by side in memory of its own. */
  owned(): Entry {
    const { bytes, start, end } = this.key
    const keyBytes = end - start
    const both = readSlab.cut(keyBytes + this.value.end - this.value.start)
    // Keys are short: a loop costs less than another view of them.
    for (let i = 0; i < keyBytes; i++) both[i] = bytes[start + i]!
    this.value.copyTo(both, keyBytes)
    return { key: both.subarray(0, keyBytes), value: both.subarray(keyBytes), stamp: this.stamp }
  }
}

/** A copy of the value that is sealed under this key. */
export function openValue(key: Buffer, sealed: Uint8Array): Buffer {
  const { length } = sealed
  const value = readSlab.cut(Math.max(0, length - SEAL_BYTES))
  if (value.length > 0) value.set(new Uint8Array(sealed.buffer, sealed.byteOffset + SEAL_BYTES, value.length))
  const found = crc32(value, crc32Of(key, 0, key.length)) >>> 0
  if (length < SEAL_BYTES || found !== expectedOf(sealed)) throw new DamagedRecord(Buffer.from(key))
  return value
}

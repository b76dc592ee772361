/** A fixed-size Bloom filter: a set of keys that may report one that was never added. */
import { crc32 } from './crc.ts'

/** 8 MiB: with a million keys added, about one in 65 other keys is reported by mistake. */
const BITS = 2 ** 26

export class BloomFilter {
  #bits: Uint8Array | undefined

  add(key: Buffer): void {
    this.#bits ??= new Uint8Array(BITS / 8)
    const bit = crc32(key) % BITS
    this.#bits[bit >>> 3]! |= 1 << (bit & 7)
  }

  /** Never false for a key that was added. */
  mayHave(key: Buffer): boolean {
    if (this.#bits === undefined) return false
    const bit = crc32(key) % BITS
    return (this.#bits[bit >>> 3]! & (1 << (bit & 7))) !== 0
  }
}

/** Which of any number of keys were added, in memory that does not grow: it may say yes of one that was not. */
import { crc32 } from './crc.ts'

/** 8 MiB: of a million keys that were never added it takes about one in 65 for one of a million that were. */
const BITS = 2 ** 26

export class BloomFilter {
  #bits: Uint8Array | undefined

  add(key: Buffer): void {
    this.#bits ??= new Uint8Array(BITS / 8)
    const bit = crc32(key) % BITS
    this.#bits[bit >>> 3]! |= 1 << (bit & 7)
  }

  /** Never false of one that was added. */
  mayHave(key: Buffer): boolean {
    if (this.#bits === undefined) return false
    const bit = crc32(key) % BITS
    return (this.#bits[bit >>> 3]! & (1 << (bit & 7))) !== 0
  }
}

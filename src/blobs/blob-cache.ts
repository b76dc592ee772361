/**
 * Packed blobs that were read more than once, in memory. A blob never changes, so that a copy which was checked when it
 * was read needs no invalidation, and nobody asks for one that is removed.
 */
import { ownCopy } from '../lib/bytes.ts'
import { memoryLimit } from '../lib/memory-limit.ts'
import { SecondChanceCache } from '../lib/second-chance-cache.ts'
import type { BlobId } from './blobs.ts'

/** Of the machine's memory or the container's limit, for each folder that a process has open. */
const MEMORY_SHARE = 1 / 256
const CACHE_BYTES_MAX = 64 * 2 ** 20

export const defaultCacheBytes = (memory = memoryLimit()): number =>
  Math.min(CACHE_BYTES_MAX, Math.floor(memory * MEMORY_SHARE))

export class BlobCache {
  readonly #blobs: SecondChanceCache<Buffer>

  constructor(bytesMax: number) {
    this.#blobs = new SecondChanceCache(bytesMax)
  }

  /** The whole blob. Its memory is shared: it must not be changed. */
  get(id: BlobId): Buffer | undefined {
    return this.#blobs.get(nameOf(id))
  }

  /** Keeps a copy of a whole, checked blob, unless it was not read lately. */
  offer(id: BlobId, bytes: Buffer): void {
    const name = nameOf(id)
    // The end of an id is random.
    const mark = id.readUInt32LE(id.length - 4)
    if (this.#blobs.get(name) !== undefined || !this.#blobs.isWanted(name, mark, bytes.length)) return
    // The memory of the original is used again once it is sent.
    this.#blobs.set(name, ownCopy(bytes), bytes.length)
  }
}

const nameOf = (id: BlobId): string => id.toString('latin1')

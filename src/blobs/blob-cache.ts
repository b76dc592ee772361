/**
 * Packed blobs that were read more than once, in memory. A blob never changes, so that a copy which was checked when it
 * was read needs no invalidation, and nobody asks for one that is removed. Evicted first in, first out, with a second
 * chance for those read since.
 */
import { totalmem } from 'node:os'
import { RecentMarks } from '../lib/recent-marks.ts'
import type { BlobId } from './blobs.ts'

interface CachedBlob {
  readonly bytes: Buffer
  wasRead: boolean
}

/** Blobs that were read once and are told apart. */
const RECENT_BLOBS = 4096
/**
 * A full cache takes one in this many: blobs that are read again and again but do not all fit would otherwise displace
 * each other, at the cost of a copy for every read.
 */
const TAKEN_WHEN_FULL = 16
/** Of the machine's memory or the container's limit, for each folder that a process has open. */
const MEMORY_SHARE = 1 / 256
const CACHE_BYTES_MAX = 64 * 2 ** 20

export const defaultCacheBytes = (memory = Math.min(totalmem(), process.constrainedMemory() || Infinity)): number =>
  Math.min(CACHE_BYTES_MAX, Math.floor(memory * MEMORY_SHARE))

export class BlobCache {
  readonly #bytesMax: number
  readonly #blobs = new Map<string, CachedBlob>()
  readonly #recent = new RecentMarks(RECENT_BLOBS)
  #bytes = 0
  /** Those offered to a full cache. */
  #excess = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The whole blob. Its memory is shared: it must not be changed. */
  get(id: BlobId): Buffer | undefined {
    const found = this.#blobs.get(nameOf(id))
    if (found === undefined) return undefined
    found.wasRead = true
    return found.bytes
  }

  /** Keeps a copy of a whole, checked blob, unless it was not read lately: most are read once. */
  offer(id: BlobId, bytes: Buffer): void {
    // The end of an id is random.
    if (bytes.length > this.#bytesMax || this.#recent.isNew(id.readUInt32LE(id.length - 4))) return
    const name = nameOf(id)
    if (this.#blobs.has(name) || !this.#isTaken(bytes.length)) return
    // The memory of the original is used again once it is sent.
    const copy = Buffer.allocUnsafeSlow(bytes.length)
    bytes.copy(copy)
    this.#blobs.set(name, { bytes: copy, wasRead: false })
    this.#bytes += copy.length
    this.#evict()
  }

  #isTaken(bytes: number): boolean {
    return this.#bytes + bytes <= this.#bytesMax || ++this.#excess % TAKEN_WHEN_FULL === 0
  }

  #evict(): void {
    for (const [name, oldest] of this.#blobs) {
      if (this.#bytes <= this.#bytesMax) return
      this.#blobs.delete(name)
      if (oldest.wasRead) {
        oldest.wasRead = false
        this.#blobs.set(name, oldest)
      } else {
        this.#bytes -= oldest.bytes.length
      }
    }
  }
}

const nameOf = (id: BlobId): string => id.toString('latin1')

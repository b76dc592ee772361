import { createHash, type Hash } from 'node:crypto'
import type { DigestStream } from './digest-thread.ts'
import { type DigestThreads, digestThreads } from './digest-threads.ts'
import type { DigestAlgorithm } from './digest-work.ts'
import { oneShotHash } from './one-shot-hash.ts'
import { BLOCK_BYTES } from './shared-blocks.ts'

/** A piece of a byte weighs a hundred. So many are joined, which those of a sensible client never are. */
const LOOSE_MAX = 256

/** MD5s of less are over before they have been copied to be computed together. */
const TOGETHER_BYTES_MIN = 16 * 1024

/**
 * The digest of a body as it comes in. Up to a block of bytes is kept and hashed at the end, which is over before a
 * thread would have answered; a longer body goes to a thread block by block. Bytes must stay as they are until the
 * block they belong to is gone; those of a shared block go at once, and whoever lent it may do so when that is awaited.
 */
export class BodyDigest {
  readonly #algorithm: DigestAlgorithm
  readonly #threads: DigestThreads
  #only: Buffer | undefined
  /** All that is kept, when it came in several pieces. */
  #pieces: Buffer[] | undefined
  /** So many of the last pieces are as they came. */
  #loose = 0
  #kept = 0
  #lane: DigestStream | undefined
  /** Where there are no threads. */
  #hash: Hash | undefined

  constructor(algorithm: DigestAlgorithm, threads: DigestThreads = digestThreads) {
    this.#algorithm = algorithm
    this.#threads = threads
  }

  /** What it returns, if anything, is to be awaited before the next call. */
  update(chunk: Buffer): Promise<void> | undefined {
    if (this.#kept === 0) this.#only = chunk
    else {
      this.#pieces ??= [this.#only!]
      this.#pieces.push(chunk)
      if (++this.#loose === LOOSE_MAX) this.#join(this.#pieces)
    }
    this.#kept += chunk.length
    const isShared = this.#threads.blocks.blockOf(chunk) !== undefined
    return this.#kept < BLOCK_BYTES && !isShared ? undefined : this.#pass()
  }

  async digest(): Promise<Buffer> {
    if (this.#lane === undefined && this.#hash === undefined) {
      if (this.#algorithm === 'md5' && this.#kept >= TOGETHER_BYTES_MIN) {
        return this.#threads.together.digest(this.#pieces ?? [this.#only!], this.#kept)
      }
      if (this.#pieces === undefined) return oneShotHash(this.#algorithm, this.#only ?? Buffer.alloc(0), 'buffer')
      this.#hash = createHash(this.#algorithm)
    }
    await this.#pass()
    return this.#lane === undefined ? this.#hash!.digest() : this.#lane.digest()
  }

  /** Nobody will ask for the digest. May be called at any time, also after it was given. */
  abandon(): void {
    this.#lane?.abandon()
  }

  #join(pieces: Buffer[]): void {
    pieces.push(Buffer.concat(pieces.splice(-LOOSE_MAX)))
    this.#loose = 0
  }

  #pass(): Promise<void> | undefined {
    const pieces = this.#pieces ?? (this.#only === undefined ? [] : [this.#only])
    this.#only = undefined
    this.#pieces = undefined
    this.#loose = 0
    this.#kept = 0
    if (this.#hash === undefined) this.#lane ??= this.#threads.open(this.#algorithm)
    if (this.#lane !== undefined) return this.#lane.take(pieces)
    this.#hash ??= createHash(this.#algorithm)
    for (const piece of pieces) this.#hash.update(piece)
    return undefined
  }
}

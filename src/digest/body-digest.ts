import { createHash, type Hash } from 'node:crypto'
import type { DigestAlgorithm } from './digest-program.ts'
import { BUFFER_BYTES, type DigestStream } from './digest-thread.ts'
import { type DigestThreads, digestThreads } from './digest-threads.ts'
import { oneShotHash } from './one-shot-hash.ts'

/** A one-byte chunk takes a hundred bytes of heap, so this many pending chunks are joined. */
const PENDING_CHUNKS_MAX = 256

/**
 * The digest of a body as it arrives. Up to 256 KiB stay pending and are hashed at the end, which takes less time than
 * a thread needs to answer; a longer body goes to a thread, 256 KiB at a time. Chunks must not change until `digest`
 * resolves.
 */
export class BodyDigest {
  readonly #algorithm: DigestAlgorithm
  readonly #threads: DigestThreads
  #pending: Buffer[] = []
  #pendingBytes = 0
  #stream: DigestStream | undefined
  /** Used instead of a stream where no thread can be started. */
  #hash: Hash | undefined

  constructor(algorithm: DigestAlgorithm, threads: DigestThreads = digestThreads) {
    this.#algorithm = algorithm
    this.#threads = threads
  }

  /** A promise that is returned must be awaited before the next call. */
  update(chunk: Buffer): Promise<void> | undefined {
    if (chunk.length === 0) return undefined
    if (this.#pending.push(chunk) === PENDING_CHUNKS_MAX) this.#pending = [Buffer.concat(this.#pending)]
    this.#pendingBytes += chunk.length
    return this.#pendingBytes > BUFFER_BYTES ? this.#flush() : undefined
  }

  async digest(): Promise<Buffer> {
    if (this.#stream === undefined && this.#hash === undefined) {
      const [only = Buffer.alloc(0), ...others] = this.#pending
      return oneShotHash(this.#algorithm, others.length === 0 ? only : Buffer.concat(this.#pending), 'buffer')
    }
    if (this.#stream !== undefined) return this.#stream.digest(this.#pending)
    for (const chunk of this.#pending) this.#hash!.update(chunk)
    return this.#hash!.digest()
  }

  /** Drops a digest that is no longer needed. May be called at any time, also after `digest`. */
  abandon(): void {
    this.#stream?.abandon()
  }

  /** Hashes whole buffers, and leaves at least one byte for the last one. */
  #flush(): Promise<void> | undefined {
    const chunks = this.#pending
    // At most a buffer was pending before the last chunk, so the rest is a part of that.
    const restBytes = ((this.#pendingBytes - 1) % BUFFER_BYTES) + 1
    const last = chunks.pop()!
    const split = last.length - restBytes
    if (split > 0) chunks.push(last.subarray(0, split))
    this.#pending = [last.subarray(split)]
    this.#pendingBytes = restBytes
    if (this.#hash === undefined) this.#stream ??= this.#threads.open(this.#algorithm)
    if (this.#stream !== undefined) return this.#stream.write(chunks)
    this.#hash ??= createHash(this.#algorithm)
    for (const chunk of chunks) this.#hash.update(chunk)
    return undefined
  }
}

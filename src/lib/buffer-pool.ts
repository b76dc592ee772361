/**
 * Buffers that cost less than fresh ones. A fresh buffer is an allocation outside the heap that the collector tracks:
 * for records of a few KiB that costs more than filling them, so they are cut from slabs. For chunks of bodies it is
 * also a page fault for every 4 KiB that is written, a third of the processor time of a large download and as much as
 * the read itself for 64 KiB, so they are pooled.
 */
import { REPORTS_WRITTEN_BYTES } from './runtime.ts'

/** The largest chunk. Measured: reads of twice the size are no faster, of half the size slower. */
export const CHUNK_BYTES = 2 ** 19
/** Shorter contents are part of their records. */
const CHUNK_BYTES_MIN = 4096
/** A chunk as it is stored, with the checksums between its frames, is longer than a chunk. */
const POOLED_BYTES_MAX = 2 * CHUNK_BYTES
/** More than this many of a size are returned to the system. */
const FREE_MAX = 32

/** Sizes are powers of two. */
const exponentOf = (bytes: number): number => 32 - Math.clz32(bytes - 1)

/** Unused chunks, by the exponent of their size. */
const free: readonly ArrayBufferLike[][] = Array.from({ length: exponentOf(POOLED_BYTES_MAX) + 1 }, () => [])
/** Memory of chunks in use. Other buffers may be passed to `returnChunk` as well and are ignored. */
const inUse = new WeakSet<ArrayBufferLike>()

/**
 * An uninitialized buffer, pooled unless it is very short or very long. A chunk that is not returned is
 * collected like any other buffer, so only a consumer that knows to be the last one returns it.
 */
export function takeChunk(bytes: number): Buffer {
  const fits = bytes > CHUNK_BYTES_MIN && bytes <= POOLED_BYTES_MAX
  if (!fits || !REPORTS_WRITTEN_BYTES) return Buffer.allocUnsafeSlow(bytes)
  const exponent = exponentOf(bytes)
  const memory = free[exponent]!.pop() ?? Buffer.allocUnsafeSlow(2 ** exponent).buffer
  inUse.add(memory)
  return Buffer.from(memory, 0, bytes)
}

/** The caller states that nothing refers to the chunk, or to a part of it, any more. */
export function returnChunk({ buffer }: Buffer): void {
  if (!inUse.delete(buffer)) return
  const unused = free[exponentOf(buffer.byteLength)]!
  if (unused.length < FREE_MAX) unused.push(buffer)
}

/**
 * Allocates short-lived buffers from larger ones. A slab lives as long as one of its buffers, so long-lived buffers
 * must not be allocated from it.
 */
export class Slab {
  readonly #bytes: number
  #buffer: Buffer
  #used = 0

  constructor(bytes: number) {
    this.#bytes = bytes
    this.#buffer = Buffer.allocUnsafeSlow(bytes)
  }

  /** An uninitialized buffer of this length; a separate one when it would take much of a slab. */
  cut(length: number): Buffer {
    if (length > this.#bytes / 4) return Buffer.allocUnsafeSlow(length)
    if (this.#used + length > this.#bytes) {
      this.#buffer = Buffer.allocUnsafeSlow(this.#bytes)
      this.#used = 0
    }
    const out = this.#buffer.subarray(this.#used, this.#used + length)
    this.#used += (length + 7) & ~7
    return out
  }
}

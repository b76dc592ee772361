/**
 * Buffers that are used again. A fresh one costs an allocation that the garbage collector must notice, and a page fault
 * for every 4 KiB that is written to it: a third of the processor time of a large download, and as much as the read
 * itself for 64 KiB.
 *
 * A chunk that nobody returns is collected like any other buffer, so only a consumer that knows it is the last one
 * returns it.
 */
import { REPORTS_WRITTEN_BYTES } from './runtime.ts'

/** The largest chunk. Measured: reads of twice the size are no faster, of half the size slower. */
export const CHUNK_BYTES = 2 ** 19
/** Shorter contents are part of their records. */
const CHUNK_BYTES_MIN = 4096
/** More than this many of a size are returned to the system. */
const FREE_MAX = 32

/** Sizes are powers of two. */
const exponentOf = (bytes: number): number => 32 - Math.clz32(bytes - 1)

/** Unused chunks, by the exponent of their size. */
const free: readonly ArrayBufferLike[][] = Array.from({ length: exponentOf(CHUNK_BYTES) + 1 }, () => [])
/** Memory of chunks in use. Other buffers may be passed to `returnChunk` as well and are ignored. */
const inUse = new WeakSet<ArrayBufferLike>()

/** An uninitialized buffer, pooled unless it is very short or longer than a chunk. */
export function takeChunk(bytes: number): Buffer {
  const fits = bytes > CHUNK_BYTES_MIN && bytes <= CHUNK_BYTES
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

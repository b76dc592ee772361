/**
 * Large buffers that are used again. A fresh one costs a page fault for every 4 KiB that is written to it, which is a
 * third of the processor time of a large download.
 *
 * A chunk that nobody returns is collected like any other buffer, so only a consumer that knows it is the last one
 * returns it.
 */
import { REPORTS_WRITTEN_BYTES } from './runtime.ts'

/** Measured: reads of twice the size are no faster, of half the size slower. */
export const CHUNK_BYTES = 2 ** 19
/** More than this is returned to the system. */
const FREE_MAX = 32

const free: ArrayBufferLike[] = []
/** Memory of chunks in use. Other buffers may be passed to `returnChunk` as well and are ignored. */
const inUse = new WeakSet<ArrayBufferLike>()

/** An uninitialized buffer; pooled if it takes most of a chunk. */
export function takeChunk(bytes: number): Buffer {
  // A short one would occupy much more memory than it needs.
  const fits = bytes > CHUNK_BYTES / 2 && bytes <= CHUNK_BYTES
  if (!fits || !REPORTS_WRITTEN_BYTES) return Buffer.allocUnsafeSlow(bytes)
  const memory = free.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES).buffer
  inUse.add(memory)
  return Buffer.from(memory, 0, bytes)
}

/** The caller states that nothing refers to the chunk, or to a part of it, any more. */
export function returnChunk(chunk: Buffer): void {
  if (inUse.delete(chunk.buffer) && free.length < FREE_MAX) free.push(chunk.buffer)
}

/** The bytes of an in-memory file, in chunks: growing costs only what is added, and holes take no memory. */
const CHUNK_BYTES = 256 * 1024
const FIRST_BYTES = 4096

export class SparseBytes {
  size = 0
  readonly #chunks: (Buffer | undefined)[] = []

  write(bytes: Uint8Array, position: number): void {
    for (let at = 0; at < bytes.length; ) {
      const start = (position + at) % CHUNK_BYTES
      const end = Math.min(CHUNK_BYTES, start + bytes.length - at)
      const index = Math.floor((position + at) / CHUNK_BYTES)
      this.#chunk(index, end).set(bytes.subarray(at, at + end - start), start)
      at += end - start
    }
    if (bytes.length > 0) this.size = Math.max(this.size, position + bytes.length)
  }

  /** Returns the number of bytes up to the end; a hole reads as zeros. */
  read(into: Uint8Array, position: number): number {
    const count = Math.max(0, Math.min(into.length, this.size - position))
    for (let at = 0; at < count; ) {
      const start = (position + at) % CHUNK_BYTES
      const end = Math.min(CHUNK_BYTES, start + count - at)
      const part = this.#chunks[Math.floor((position + at) / CHUNK_BYTES)]?.subarray(start, end)
      if (part !== undefined) into.set(part, at)
      into.fill(0, at + (part?.length ?? 0), at + end - start)
      at += end - start
    }
    return count
  }

  copyTo(other: SparseBytes): void {
    for (const [index, chunk] of this.#chunks.entries()) if (chunk) other.write(chunk, index * CHUNK_BYTES)
    other.size = this.size
  }

  /** A chunk with room for `bytes`; it grows by doubling, so that a small file stays small. */
  #chunk(index: number, bytes: number): Buffer {
    const old = this.#chunks[index]
    if (old !== undefined && old.length >= bytes) return old
    let room = Math.max(FIRST_BYTES, old?.length ?? 0)
    while (room < bytes) room *= 2
    const chunk = Buffer.alloc(room)
    if (old !== undefined) chunk.set(old)
    this.#chunks[index] = chunk
    return chunk
  }
}

/**
 * An ordered set of texts in chunks: an insert moves at most a few hundred neighbours, however many keys there are, and
 * a scan in either direction walks over arrays.
 */
const CHUNK_MAX = 1024

/** The index of the first item that is not less than `text`. */
function lowerBound(items: readonly string[], text: string): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (items[middle]! < text) low = middle + 1
    else high = middle
  }
  return low
}

export class SortedKeys {
  /** Never contains an empty chunk. */
  readonly #chunks: string[][] = []

  /** The chunk that contains `text` or would: the last one that does not start after it. */
  #chunkOf(text: string): number {
    let low = 0
    let high = this.#chunks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#chunks[middle]![0]! <= text) low = middle + 1
      else high = middle
    }
    return Math.max(0, low - 1)
  }

  add(text: string): void {
    const at = this.#chunkOf(text)
    const chunk = this.#chunks[at]
    if (chunk === undefined) {
      this.#chunks.push([text])
      return
    }
    const index = lowerBound(chunk, text)
    if (chunk[index] === text) return
    chunk.splice(index, 0, text)
    if (chunk.length > CHUNK_MAX) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK_MAX / 2))
  }

  remove(text: string): void {
    const at = this.#chunkOf(text)
    const chunk = this.#chunks[at]
    if (chunk === undefined) return
    const index = lowerBound(chunk, text)
    if (chunk[index] !== text) return
    chunk.splice(index, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  /** Ascending from `start` inclusive. */
  *up(start: string): Generator<string> {
    let at = this.#chunkOf(start)
    let index = lowerBound(this.#chunks[at] ?? [], start)
    for (; at < this.#chunks.length; at++, index = 0) {
      const chunk = this.#chunks[at]!
      for (; index < chunk.length; index++) yield chunk[index]!
    }
  }

  /** Descending from the last key below `end`, or from the very last. */
  *down(end: string | undefined): Generator<string> {
    let at = end === undefined ? this.#chunks.length - 1 : this.#chunkOf(end)
    const first = this.#chunks[at] ?? []
    let index = end === undefined ? first.length - 1 : lowerBound(first, end) - 1
    while (at >= 0) {
      const chunk = this.#chunks[at] ?? []
      for (; index >= 0; index--) yield chunk[index]!
      at--
      index = (this.#chunks[at]?.length ?? 0) - 1
    }
  }
}

/**
 * Slabs that are used again, for pieces that most often are needed for a moment: fresh memory costs the kernel a page
 * for each of them, and the collector the finding of it. As with lent buffers nothing comes back by itself. A slab is
 * used again when every piece of it was given back by whoever was the last to use it; who keeps or forgets one leaves
 * its slab to the collector.
 */

/** Slabs at hand. */
const IDLE_MAX = 32

class LentSlab {
  readonly buffer: Buffer
  /** Where its pieces begin, and which of them somebody has. */
  readonly #starts: number[] = []
  readonly #out: boolean[] = []
  #left = 0
  #used = 0

  constructor(bytes: number) {
    this.buffer = Buffer.allocUnsafeSlow(bytes)
  }

  /** Undefined when there is no room left. */
  cut(length: number): Buffer | undefined {
    const start = this.#used
    if (start + length > this.buffer.length) return undefined
    this.#used += (length + 7) & ~7
    this.#starts.push(start)
    this.#out.push(true)
    this.#left++
    return this.buffer.subarray(start, start + length)
  }

  /** True when it was the last one that somebody had; then all of it is free again. */
  takeBack(offset: number): boolean {
    let piece = this.#starts.length - 1
    while (piece >= 0 && this.#starts[piece]! > offset) piece--
    if (this.#out[piece] !== true) return false
    this.#out[piece] = false
    if (--this.#left > 0) return false
    this.#starts.length = 0
    this.#out.length = 0
    this.#used = 0
    return true
  }
}

export class SlabPool {
  readonly #bytes: number
  #current: LentSlab
  /** Those without room, as long as somebody has a piece of them. */
  readonly #full = new WeakMap<ArrayBufferLike, LentSlab>()
  readonly #idle: LentSlab[] = []

  constructor(bytes: number) {
    this.#bytes = bytes
    this.#current = new LentSlab(bytes)
  }

  /** A buffer of this length with anything in it; one of its own when it would take much of a slab. */
  lend(length: number): Buffer {
    if (length > this.#bytes / 4) return Buffer.allocUnsafeSlow(length)
    const piece = this.#current.cut(length)
    if (piece !== undefined) return piece
    this.#full.set(this.#current.buffer.buffer, this.#current)
    this.#current = this.#idle.pop() ?? new LentSlab(this.#bytes)
    return this.#current.cut(length)!
  }

  /**
   * Nobody will look at this piece again, of which the given bytes are all or some. To be said once of each; of what
   * was not lent here it says nothing.
   */
  giveBack(bytes: Buffer): void {
    // None lie nowhere: their offset may be where another piece begins.
    if (bytes.length === 0) return
    const current = this.#current
    if (bytes.buffer === current.buffer.buffer) {
      current.takeBack(bytes.byteOffset - current.buffer.byteOffset)
      return
    }
    const slab = this.#full.get(bytes.buffer)
    if (slab === undefined || !slab.takeBack(bytes.byteOffset - slab.buffer.byteOffset)) return
    this.#full.delete(bytes.buffer)
    if (this.#idle.length < IDLE_MAX) this.#idle.push(slab)
  }
}

const SLAB_BYTES = 2 ** 16

/** Of this process: records that hold a content. */
export const recordSlabs = new SlabPool(SLAB_BYTES)

/**
 * Allocates short-lived buffers from larger ones. A separate buffer is an allocation outside the heap that the
 * collector tracks: for records of a few KiB that costs more than filling them. A slab lives as long as one of its
 * buffers, so long-lived buffers must not be allocated from it.
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

/**
 * Cuts short-lived buffers from larger ones. A buffer of its own costs the runtime an allocation outside the heap, and
 * garbage collection counts every one of them: for records of a few KiB that is more than filling them. A slab lives as
 * long as one of its pieces, so nothing that is kept for long is cut from it.
 */
export class Slab {
  readonly #bytes: number
  #buffer: Buffer
  #used = 0

  constructor(bytes: number) {
    this.#bytes = bytes
    this.#buffer = Buffer.allocUnsafeSlow(bytes)
  }

  /** A buffer of this length with anything in it; one of its own when it would take much of a slab. */
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

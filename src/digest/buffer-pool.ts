/**
 * Buffers that are used again. A large one that is left to the garbage collector stays for a while, and many of them at
 * once are most of a process's memory; but one that is used again too early would show somebody the bytes of somebody
 * else. So nothing comes back by itself: a buffer is used again only when whoever was the last to use its bytes has
 * said so of every single one of them. Who fails or forgets leaves it to the collector, which is never wrong.
 */

/** Smaller ones are not worth it. */
const BYTES_MIN = 32 * 1024
const BYTES_MAX = 512 * 1024

interface Loan {
  readonly buffer: Buffer
  /** Bytes that somebody may still use. */
  left: number
}

export class BufferPool {
  /** Buffers at hand, by their size. */
  readonly #idle = new Map<number, Buffer[]>()
  readonly #loans = new WeakMap<ArrayBufferLike, Loan>()
  readonly #idleBytesMax: number
  #idleBytes = 0

  constructor(idleBytesMax: number) {
    this.#idleBytesMax = idleBytesMax
  }

  /** So many bytes with anything in them. They count as given back once as many as `used` are. */
  acquire(bytes: number, used = bytes): Buffer {
    if (bytes < BYTES_MIN || bytes > BYTES_MAX || used === 0) return Buffer.allocUnsafeSlow(bytes)
    const size = sizeFor(bytes)
    const buffer = this.#idle.get(size)?.pop()
    if (buffer !== undefined) this.#idleBytes -= size
    const lent = buffer ?? Buffer.allocUnsafeSlow(size)
    this.#loans.set(lent.buffer, { buffer: lent, left: used })
    return lent.subarray(0, bytes)
  }

  /**
   * Nobody will look at these bytes again: they have been handed over for good, or were never of use. To be said once
   * of each; of bytes that were not lent here it says nothing.
   */
  release(piece: Buffer): void {
    const loan = this.#loans.get(piece.buffer)
    if (loan === undefined) return
    loan.left -= piece.length
    if (loan.left > 0) return
    this.#loans.delete(piece.buffer)
    // More was given back than was lent: somebody is wrong about who uses it, so nobody gets it.
    if (loan.left < 0) return
    const size = loan.buffer.length
    if (this.#idleBytes + size > this.#idleBytesMax) return
    this.#idleBytes += size
    const alike = this.#idle.get(size)
    if (alike === undefined) this.#idle.set(size, [loan.buffer])
    else alike.push(loan.buffer)
  }
}

/** The next power of two. */
const sizeFor = (bytes: number): number => 2 ** Math.ceil(Math.log2(bytes))

const IDLE_BYTES_MAX = 16 * 2 ** 20

/** Of this process: stored bytes on their way to a client. */
export const outgoingBuffers = new BufferPool(IDLE_BYTES_MAX)

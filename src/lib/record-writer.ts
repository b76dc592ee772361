import { Slab } from './buffer-pool.ts'

const SLAB_BYTES = 2 ** 18
const WRITER_BYTES = 2 ** 14
const BLOCK_BYTES_MAX = 2 ** 16 - 1

/** Encodes one record at a time in a reused buffer. */
export class Writer {
  #buffer: Buffer = Buffer.allocUnsafeSlow(WRITER_BYTES)
  #at = 0
  readonly #slab = new Slab(SLAB_BYTES)

  /** Starts a new record. */
  begin(): void {
    this.#at = 0
  }

  #reserve(bytes: number): number {
    const at = this.#at
    if (at + bytes > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, at + bytes))
      this.#buffer.copy(grown, 0, 0, at)
      this.#buffer = grown
    }
    this.#at = at + bytes
    return at
  }

  byte(value: number): void {
    const at = this.#reserve(1)
    this.#buffer[at] = value
  }

  /** Seven bits per byte, lowest first; exact up to 2^53. */
  uint(value: number): void {
    if (!(Number.isSafeInteger(value) && value >= 0)) throw new Error(`not a count: ${value}`)
    let rest = value
    while (rest >= 0x80) {
      this.byte((rest % 0x80) | 0x80)
      rest = Math.floor(rest / 0x80)
    }
    this.byte(rest)
  }

  raw(bytes: Uint8Array): void {
    const at = this.#reserve(bytes.length)
    this.#buffer.set(bytes, at)
  }

  text(value: string): void {
    const length = Buffer.byteLength(value)
    this.uint(length)
    const at = this.#reserve(length)
    this.#buffer.write(value, at, length, 'utf8')
  }

  /** A two-byte length, then the bytes written by `write`. */
  block<T>(write: (to: Writer, value: T) => void, value: T): void {
    const start = this.#reserve(2) + 2
    write(this, value)
    const length = this.#at - start
    if (length > BLOCK_BYTES_MAX) throw new Error(`a block of a record cannot have ${length} bytes`)
    this.#buffer.writeUInt16BE(length, start - 2)
  }

  /** The record as a buffer that is not written to again. */
  finish(): Buffer {
    const out = this.#slab.cut(this.#at)
    this.#buffer.copy(out, 0, 0, this.#at)
    return out
  }
}

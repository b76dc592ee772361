/** Reads the fields of a row in PostgreSQL's binary formats, in the order of its columns. */
import { type ByteSpan, EMPTY } from '../../lib/bytes.ts'

const NULL = -1
const COUNT_BYTES = 2
const LENGTH_BYTES = 4
const INT4_BYTES = 4
const INT8_BYTES = 8
/** Dimensions, flags and type; then length and lower bound of each dimension. */
const ARRAY_HEADER_BYTES = 12
const DIMENSION_BYTES = 8

export class RowReader {
  #bytes: Buffer = EMPTY
  #at = 0
  #end = 0

  /** Moves to the first field. */
  begin(bytes: Buffer, start: number, end: number): this {
    this.#bytes = bytes
    this.#at = start + COUNT_BYTES
    this.#end = end
    return this
  }

  /** Whether the next field is NULL, which is then skipped. */
  skipNull(): boolean {
    if (this.#bytes.readInt32BE(this.#at) !== NULL) return false
    this.#at += LENGTH_BYTES
    return true
  }

  /** Moves behind the next field and returns where it starts. */
  #next(bytesExpected?: number): number {
    if (this.#at + LENGTH_BYTES > this.#end) throw new RangeError('PostgreSQL sent a row without an expected field')
    const length = this.#bytes.readInt32BE(this.#at)
    const start = this.#at + LENGTH_BYTES
    if (length < 0 || start + length > this.#end || (bytesExpected !== undefined && length !== bytesExpected))
      throw new RangeError(`PostgreSQL sent a field of unexpected length ${length}`)
    this.#at = start + length
    return start
  }

  boolean(): boolean {
    return this.#bytes[this.#next(1)] !== 0
  }

  /** Must be within JavaScript's safe integers. */
  int8(): number {
    const at = this.#next(INT8_BYTES)
    return this.#bytes.readInt32BE(at) * 2 ** 32 + this.#bytes.readUInt32BE(at + 4)
  }

  float8(): number {
    return this.#bytes.readDoubleBE(this.#next(INT8_BYTES))
  }

  text(): string {
    const start = this.#next()
    return this.#bytes.toString('utf8', start, this.#at)
  }

  /** The bytes where they lie; what refers to them keeps up to 64 KiB of what arrived with them in memory. */
  span(): ByteSpan {
    const start = this.#next()
    return { bytes: this.#bytes, start, end: this.#at }
  }

  copy(): Buffer {
    const start = this.#next()
    const copy = Buffer.allocUnsafe(this.#at - start)
    this.#bytes.copy(copy, 0, start, this.#at)
    return copy
  }

  /** Of one dimension at most, without NULLs. */
  int4Array(): readonly number[] {
    const start = this.#next()
    const items: number[] = []
    if (this.#bytes.readInt32BE(start) === 0) return items
    let at = start + ARRAY_HEADER_BYTES + DIMENSION_BYTES
    for (; at < this.#at; at += LENGTH_BYTES + INT4_BYTES) items.push(this.#bytes.readInt32BE(at + LENGTH_BYTES))
    return items
  }
}

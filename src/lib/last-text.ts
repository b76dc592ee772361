/** Longer texts are made anew each time. */
const BYTES_MAX = 512

/** The text of bytes that are often the same as the time before, which then is the very same string. */
export class LastText {
  readonly #bytes = new Uint8Array(BYTES_MAX)
  #length = -1
  #text = ''

  /** One character for each byte from `start` to `end`. */
  of(bytes: Buffer, start: number, end: number): string {
    if (this.#isLast(bytes, start, end)) return this.#text
    const text = bytes.toString('latin1', start, end)
    if (text.length > BYTES_MAX) return text
    for (let at = start; at < end; at++) this.#bytes[at - start] = bytes[at]!
    this.#length = text.length
    this.#text = text
    return text
  }

  #isLast(bytes: Buffer, start: number, end: number): boolean {
    if (end - start !== this.#length) return false
    for (let at = start; at < end; at++) if (bytes[at] !== this.#bytes[at - start]) return false
    return true
  }
}

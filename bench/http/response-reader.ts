/** Finds the ends of the responses on a connection, with as little work as possible. Fails unless each is a success. */

const LINE_END = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const NOTHING = Buffer.alloc(0)

export class ResponseReader {
  readonly #ended: () => void
  #head = NOTHING
  #bodyLeft = 0
  #isChunked = false
  bytes = 0
  /** The next response has no body, whatever length it tells: it is one to HEAD. */
  isBodiless = false

  constructor(ended: () => void) {
    this.#ended = ended
  }

  /** The bytes may be overwritten afterwards. */
  take(chunk: Buffer): void {
    this.bytes += chunk.length
    let at = 0
    while (at < chunk.length) {
      if (this.#bodyLeft > 0) {
        const taken = Math.min(this.#bodyLeft, chunk.length - at)
        at += taken
        this.#bodyLeft -= taken
      } else {
        const whole = this.#head.length === 0 ? chunk.subarray(at) : Buffer.concat([this.#head, chunk.subarray(at)])
        const mark = this.#isChunked ? LINE_END : HEAD_END
        const end = whole.indexOf(mark)
        if (end < 0) {
          this.#head = Buffer.from(whole)
          return
        }
        at = chunk.length - (whole.length - end - mark.length)
        const text = whole.toString('latin1', 0, end)
        this.#head = NOTHING
        if (this.#isChunked) this.#beginChunk(text)
        else this.#bodyLeft = this.#lengthOf(text)
      }
      if (this.#bodyLeft === 0 && !this.#isChunked) this.#ended()
    }
  }

  /** The last chunk is empty, and an empty line follows it. */
  #beginChunk(sizeLine: string): void {
    const size = Number.parseInt(sizeLine, 16)
    this.#bodyLeft = size + LINE_END.length
    if (size === 0) this.#isChunked = false
  }

  #lengthOf(head: string): number {
    if (!head.startsWith('HTTP/1.1 20')) throw new Error(`an answer that nobody expected: ${head}`)
    if (this.isBodiless || head.startsWith('HTTP/1.1 204')) return 0
    this.#isChunked = /\r\ntransfer-encoding: ?chunked/i.test(head)
    if (this.#isChunked) return 0
    const length = /\r\ncontent-length: ?(\d+)/i.exec(head)
    if (length === null) throw new Error(`an answer without a length: ${head}`)
    return Number(length[1])
  }
}

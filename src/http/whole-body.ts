import { type ByteReader, PieceStream } from '../lib/piece-stream.ts'

/** The body of a request that has arrived as a whole. */
export class WholeBody extends PieceStream {
  readonly isWhole = true
  readonly #bytes: Buffer
  #isRead = false

  constructor(bytes: Buffer) {
    super()
    this.#bytes = bytes
  }

  /** There is a body, and nobody has read it. */
  get isUnread(): boolean {
    return this.#bytes.length > 0 && !this.#isRead
  }

  /** Bytes that were read. */
  get bytes(): number {
    return this.#isRead ? this.#bytes.length : 0
  }

  /** For bodies that are still arriving. */
  cut(): void {}

  reader(): ByteReader {
    return {
      read: () => {
        if (!this.isUnread) return undefined
        this.#isRead = true
        return this.#bytes
      },
      cancel: () => undefined,
    }
  }
}

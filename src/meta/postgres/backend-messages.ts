/**
 * Separates rows from the other messages of a server. `pg` would make texts of all fields, which takes hex digits for
 * bytes; so rows are read where they lie, and everything else goes to `pg` as it arrived.
 */

/** Type and length of a message; the length counts itself but not the type. */
const HEADER_BYTES = 5
const LENGTH_BYTES = 4
const DATA_ROW = 'D'.charCodeAt(0)
/** PostgreSQL allocates no more for one message. */
const MESSAGE_BYTES_MAX = 2 ** 30

interface MessageReceiver {
  /** False while no statement runs: a row is then a message like any other. */
  readonly expectsRows: boolean
  /** The fields of one row. The bytes are not changed afterwards. */
  row(bytes: Buffer, start: number, end: number): void
  /** One or more whole messages of other types. */
  others(messages: Buffer): void
}

function messageBytes(bytes: Buffer, at: number): number {
  const length = bytes.readUInt32BE(at + 1)
  if (length < LENGTH_BYTES || length >= MESSAGE_BYTES_MAX) throw new Error('PostgreSQL sent a malformed message')
  return length + 1
}

export class BackendMessages {
  readonly #receiver: MessageReceiver
  /** The message that the last chunk ended in, as long as the whole of it once its length is known. */
  #partial: Buffer | undefined
  #filled = 0

  constructor(receiver: MessageReceiver) {
    this.#receiver = receiver
  }

  /** Delivers all messages that end in this chunk, in their order. */
  take(chunk: Buffer): void {
    let at = this.#partial === undefined ? 0 : this.#continue(this.#partial, chunk)
    let othersAt = at
    while (at + HEADER_BYTES <= chunk.length) {
      const end = at + messageBytes(chunk, at)
      if (end > chunk.length) break
      if (chunk[at] === DATA_ROW && this.#receiver.expectsRows) {
        if (othersAt < at) this.#receiver.others(chunk.subarray(othersAt, at))
        this.#receiver.row(chunk, at + HEADER_BYTES, end)
        othersAt = end
      }
      at = end
    }
    // Before others are delivered, since those may end a statement, and its caller may cause further chunks.
    if (at < chunk.length) this.#begin(chunk, at)
    if (othersAt < at) this.#receiver.others(chunk.subarray(othersAt, at))
  }

  /** In a buffer of its own, so that a long message is copied once. */
  #begin(chunk: Buffer, at: number): void {
    const isLengthKnown = at + HEADER_BYTES <= chunk.length
    this.#partial = Buffer.allocUnsafe(isLengthKnown ? messageBytes(chunk, at) : HEADER_BYTES)
    this.#filled = chunk.copy(this.#partial, 0, at)
  }

  /** Returns the offset of the first byte that belongs to the next message. */
  #continue(begun: Buffer, chunk: Buffer): number {
    let partial = begun
    let at = 0
    if (this.#filled < HEADER_BYTES) {
      at = chunk.copy(partial, this.#filled, 0, HEADER_BYTES - this.#filled)
      this.#filled += at
      if (this.#filled < HEADER_BYTES) return at
      partial = Buffer.allocUnsafe(messageBytes(begun, 0))
      begun.copy(partial, 0, 0, HEADER_BYTES)
      this.#partial = partial
    }
    const copied = chunk.copy(partial, this.#filled, at)
    this.#filled += copied
    if (this.#filled === partial.length) {
      this.#partial = undefined
      this.#deliver(partial)
    }
    return at + copied
  }

  #deliver(message: Buffer): void {
    if (message[0] === DATA_ROW && this.#receiver.expectsRows) this.#receiver.row(message, HEADER_BYTES, message.length)
    else this.#receiver.others(message)
  }
}

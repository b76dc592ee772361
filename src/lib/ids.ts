import type { Random } from './random.ts'

export const WRITER_BYTES = 6
const ID_BYTES = 16

/**
 * Ids created by this process: six bytes that identify the process, a four-byte counter, six random bytes. They sort in
 * creation order within a process, which keeps new records together in the tree, and identify the writer of unnamed
 * bytes.
 */
export class Ids {
  readonly writer: Buffer
  readonly #random: Random
  #count = 0

  constructor(random: Random, writer = random.bytes(WRITER_BYTES)) {
    this.#random = random
    this.writer = writer
  }

  next(): Buffer {
    const id = Buffer.allocUnsafe(ID_BYTES)
    this.writer.copy(id)
    id.writeUInt32BE(this.#count++ >>> 0, WRITER_BYTES)
    this.#random.bytes(ID_BYTES - WRITER_BYTES - 4).copy(id, WRITER_BYTES + 4)
    return id
  }

  isMine(id: Uint8Array): boolean {
    return this.writer.equals(id.subarray(0, WRITER_BYTES))
  }
}

import type { Random } from './random.ts'

export const WRITER_BYTES = 6
export const ID_BYTES = 16

/**
 * Ids of what this process makes: six bytes that name the process, four that count, six at random. They sort by the
 * order of making within one process, which keeps new records together in the tree, and tell whose unnamed bytes
 * somebody finds later.
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

/**
 * Turns an arriving body into the buffers of one vectored write: header, CRCs and payload, without copying payload of a
 * worthwhile size. Packed and solo blobs have the same frames, so a body may turn out to be too long for a volume after
 * its first frames were built.
 */

import { EMPTY } from '../lib/bytes.ts'
import { crc32 } from '../lib/crc.ts'
import type { BlobId } from './blobs.ts'
import { type BlobKind, FRAME_CRC_BYTES, frameSeed, HEADER_BYTES, idSeed, writeHeader } from './frames.ts'

/** Shorter payload is copied next to its CRC: a separate buffer would cost more and pin the memory it is part of. */
const COPY_BYTES_MAX = 4096
const SLAB_BYTES_MIN = 256
const SLAB_BYTES_MAX = 32 * 1024

export class FrameBuilder {
  readonly id: BlobId
  readonly frameBytes: number
  /** Payload bytes added so far. */
  length = 0
  /** Bytes built and not yet written. */
  pendingBytes = 0

  readonly #idSeed: number
  #head: Buffer | undefined
  #pieces: Buffer[] = []
  /** Small pieces are packed here; [#from, #used) is not yet a buffer of its own. */
  #slab: Buffer = EMPTY
  #slabBytes = SLAB_BYTES_MIN
  #from = 0
  #used = 0
  /** State of the frame being filled: its CRC field, the CRC so far, payload bytes, index. */
  #check: Buffer = EMPTY
  #crc = 0
  #filled = 0
  #index = 0

  constructor(id: BlobId, frameBytes: number) {
    this.id = id
    this.frameBytes = frameBytes
    this.#idSeed = idSeed(id)
  }

  /** True when the last frame is complete: only then may the buffers be written. */
  get atBorder(): boolean {
    return this.#filled === 0
  }

  /** Adds payload from `chunk` at `from` up to the end of the frame; returns where it stopped. */
  add(chunk: Buffer, from: number): number {
    const take = Math.min(this.frameBytes - this.#filled, chunk.length - from)
    const copied = take <= COPY_BYTES_MAX
    if (this.#filled === 0) this.#openFrame(copied ? take : 0)
    const piece = chunk.subarray(from, from + take)
    this.#crc = crc32(piece, this.#crc)
    if (copied) this.#reserve(take).set(piece)
    else {
      this.#closePiece()
      this.#pieces.push(piece)
      this.pendingBytes += take
    }
    this.#filled += take
    this.length += take
    if (this.#filled === this.frameBytes) this.#closeFrame()
    return from + take
  }

  /** Completes the last frame. */
  end(): void {
    if (this.#filled > 0) this.#closeFrame()
  }

  /** The header precedes the first frames, and is written once its contents are known. */
  head(kind: BlobKind): void {
    this.#ensureHead(0)
    writeHeader(this.#head!, kind, this.id, this)
  }

  take(): Buffer[] {
    this.#closePiece()
    const pieces = this.#pieces
    this.#pieces = []
    this.pendingBytes = 0
    return pieces
  }

  #ensureHead(ahead: number): void {
    if (this.#head !== undefined) return
    this.#room(HEADER_BYTES + ahead)
    this.#head = this.#reserve(HEADER_BYTES)
  }

  #openFrame(ahead: number): void {
    // One slab for all of it, so that a small blob is a single buffer.
    this.#ensureHead(FRAME_CRC_BYTES + ahead)
    this.#room(FRAME_CRC_BYTES + ahead)
    this.#check = this.#reserve(FRAME_CRC_BYTES)
    this.#crc = frameSeed(this.#idSeed, this.#index++)
  }

  #closeFrame(): void {
    this.#check.writeUInt32BE(this.#crc, 0)
    this.#filled = 0
  }

  #room(bytes: number): void {
    if (this.#used + bytes <= this.#slab.length) return
    this.#closePiece()
    this.#slab = Buffer.allocUnsafe(Math.max(bytes, this.#slabBytes))
    this.#slabBytes = Math.min(this.#slabBytes * 2, SLAB_BYTES_MAX)
    this.#from = 0
    this.#used = 0
  }

  #reserve(bytes: number): Buffer {
    this.#room(bytes)
    const place = this.#slab.subarray(this.#used, this.#used + bytes)
    this.#used += bytes
    this.pendingBytes += bytes
    return place
  }

  #closePiece(): void {
    if (this.#used > this.#from) this.#pieces.push(this.#slab.subarray(this.#from, this.#used))
    this.#from = this.#used
  }
}

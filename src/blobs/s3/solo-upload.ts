/**
 * Writes one long blob as an object of its own: by one PUT, or as a multipart upload while the body arrives. Parts have
 * the same size, as some stores demand, and are few in memory at a time.
 */
import type { BlobId, BlobLocation } from '../blobs.ts'
import type { FrameBuilder } from '../frame-builder.ts'
import { BLOB_ID_BYTES, FOOTER_BYTES, footerOf, storedBytes } from '../frames.ts'
import { MultipartUpload } from './multipart.ts'
import { ObjectFile } from './object-file.ts'
import { MissingObject, ObjectExists, type ObjectStore } from './object-store.ts'
import type { PartSlots } from './part-slots.ts'

/** The smallest that S3 accepts: each upload in progress holds at least one. 10,000 parts are 48 GiB. */
export const PART_BYTES = 5 * 2 ** 20
const IN_FLIGHT_MAX = 3

export function soloObject(id: BlobId): string {
  return `solo/${id.toString('hex', BLOB_ID_BYTES - 1)}/${id.toString('hex')}`
}

/** The id in the name of an object; undefined for other names. */
export function soloIdOf(name: string): BlobId | undefined {
  const [, folder, id] = /^solo\/([0-9a-f]{2})\/([0-9a-f]{32})$/.exec(name) ?? []
  return id?.endsWith(folder!) === true ? Buffer.from(id, 'hex') : undefined
}

export class SoloUpload {
  readonly #store: ObjectStore
  readonly #slots: PartSlots
  readonly #id: BlobId
  readonly #name: string
  #pieces: Buffer[] = []
  #bytes = 0
  #hasSlot = false
  #upload: MultipartUpload | undefined
  #parts = 0
  readonly #sending = new Set<Promise<void>>()
  #failure: unknown

  constructor(store: ObjectStore, slots: PartSlots, id: BlobId) {
    this.#store = store
    this.#slots = slots
    this.#id = id
    this.#name = soloObject(id)
  }

  async write(pieces: readonly Buffer[]): Promise<void> {
    await this.#acquireSlot()
    for (let piece of pieces) {
      while (this.#bytes + piece.length >= PART_BYTES) {
        const take = PART_BYTES - this.#bytes
        this.#add(piece.subarray(0, take))
        piece = piece.subarray(take)
        await this.#sendPart()
        await this.#acquireSlot()
      }
      if (piece.length > 0) this.#add(piece)
    }
  }

  #add(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
  }

  async #acquireSlot(): Promise<void> {
    if (this.#hasSlot) return
    await this.#slots.acquire()
    this.#hasSlot = true
  }

  #releaseSlot(): void {
    if (this.#hasSlot) this.#slots.release()
    this.#hasSlot = false
  }

  /** Some stores ignore If-None-Match when an upload completes. */
  async #begin(): Promise<MultipartUpload> {
    const [upload, isTaken] = await Promise.all([
      MultipartUpload.begin(this.#store, this.#name),
      this.#store.has(this.#name),
    ])
    if (!isTaken) return upload
    await upload.abort().catch(() => {})
    throw new ObjectExists(`${this.#store.host} already has an object ${this.#name}`)
  }

  /** Sends what has been collected while the next part is. */
  async #sendPart(): Promise<void> {
    this.#upload ??= await this.#begin()
    while (this.#sending.size >= IN_FLIGHT_MAX) await Promise.race(this.#sending)
    if (this.#failure !== undefined) throw this.#failure
    const pieces = this.#pieces
    this.#pieces = []
    this.#bytes = 0
    this.#hasSlot = false
    const sending = this.#upload.send(++this.#parts, pieces).then(
      () => {},
      error => {
        this.#failure ??= error
      },
    )
    const ended = sending.then(() => {
      this.#slots.release()
      this.#sending.delete(ended)
    })
    this.#sending.add(ended)
  }

  /** Sends the rest and the footer; resolves when the other store has acknowledged the object. */
  async finish(frames: FrameBuilder): Promise<BlobLocation> {
    const { length, frameBytes } = frames
    await this.write([...frames.take(), footerOf(this.#id, length)])
    if (this.#upload === undefined) {
      await this.#store.put(this.#name, this.#pieces)
    } else {
      if (this.#bytes > 0) await this.#sendPart()
      await Promise.all(this.#sending)
      if (this.#failure !== undefined) throw this.#failure
      await this.#upload.complete(() => this.#isWhole({ length, frameBytes }))
    }
    this.#releaseSlot()
    return { volume: undefined, offset: 0, length, frameBytes }
  }

  /** Only a complete object of this size has this footer at its end. */
  async #isWhole(shape: { readonly length: number; readonly frameBytes: number }): Promise<boolean> {
    const file = new ObjectFile(this.#store, this.#name)
    const foot = Buffer.alloc(FOOTER_BYTES)
    try {
      if ((await file.size()) !== storedBytes(shape) + FOOTER_BYTES) return false
      await file.read([foot], storedBytes(shape))
    } catch (error) {
      if (error instanceof MissingObject) return false
      throw error
    }
    return foot.equals(footerOf(this.#id, shape.length))
  }

  /** Frees what was sent. If that fails, the sweep finds the upload. */
  async abandon(): Promise<void> {
    this.#releaseSlot()
    await Promise.all(this.#sending)
    await this.#upload?.abort().catch(() => {})
  }
}

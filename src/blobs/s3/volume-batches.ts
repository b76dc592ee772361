/**
 * Packs blobs that arrive together into one object: a volume with a superblock and the same records as in a file, which
 * is complete and immutable once the other store has acknowledged it.
 */
import type { BlobLocation } from '../blobs.ts'
import { BATCH_ALIGNMENT_BYTES, superblockOf, volumeName } from '../frames.ts'
import type { PackedBlob } from '../volume-writer.ts'
import type { ObjectStore } from './object-store.ts'

interface PendingBlob {
  readonly blob: PackedBlob
  readonly resolve: (location: BlobLocation) => void
  readonly reject: (error: unknown) => void
}

export const BATCH_BYTES_MAX = 4 * 2 ** 20
/** Smaller batches wait while this many are on their way: each would be an object of its own. */
const SMALL_IN_FLIGHT_MAX = 2
const SMALL_BYTES = 256 * 1024
const IN_FLIGHT_MAX = 8

export const volumeObject = (volume: string): string => `volumes/${volume}`

export class VolumeBatches {
  readonly #store: ObjectStore
  readonly #writer: Buffer
  #number = 0
  #queue: PendingBlob[] = []
  #queuedBytes = 0
  #inFlight = 0
  #isScheduled = false

  constructor(store: ObjectStore, writer: Buffer) {
    this.#store = store
    this.#writer = writer
  }

  append(blob: PackedBlob): Promise<BlobLocation> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ blob, resolve, reject })
      this.#queuedBytes += blob.bytes
      this.#wake()
    })
  }

  #wake(): void {
    if (this.#isScheduled || this.#queue.length === 0 || !this.#maySend()) return
    this.#isScheduled = true
    // Deferred: blobs that arrive in the same turn of the event loop join the same batch.
    setImmediate(() => {
      this.#isScheduled = false
      while (this.#queue.length > 0 && this.#maySend()) void this.#send(this.#takeBatch())
    })
  }

  #maySend(): boolean {
    return this.#inFlight < (this.#queuedBytes < SMALL_BYTES ? SMALL_IN_FLIGHT_MAX : IN_FLIGHT_MAX)
  }

  #takeBatch(): PendingBlob[] {
    let bytes = 0
    let count = 0
    for (const { blob } of this.#queue) {
      if (count > 0 && bytes + blob.bytes > BATCH_BYTES_MAX) break
      bytes += blob.bytes
      count++
    }
    this.#queuedBytes -= bytes
    return this.#queue.splice(0, count)
  }

  async #send(batch: readonly PendingBlob[]): Promise<void> {
    this.#inFlight++
    const self = { writer: this.#writer, number: ++this.#number }
    const volume = volumeName(self)
    const pieces = [superblockOf(self)]
    const offsets: number[] = []
    let end = BATCH_ALIGNMENT_BYTES
    for (const { blob } of batch) {
      offsets.push(end)
      pieces.push(...blob.pieces)
      end += blob.bytes
    }
    try {
      await this.#store.put(volumeObject(volume), [Buffer.concat(pieces, end)])
      for (const [index, { blob, resolve }] of batch.entries()) {
        resolve({ volume, offset: offsets[index]!, length: blob.length, frameBytes: blob.frameBytes })
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    this.#inFlight--
    this.#wake()
  }
}

/**
 * Appends packed blobs to volume files that only this process writes. Blobs that arrive together share one vectored
 * write and one datasync; the next batch is written while the last one is being synced.
 *
 * A failure is final: after a failed write or sync the volume accepts no more bytes, everything in it that was not yet
 * acknowledged is refused, and the next batch starts a new volume.
 */
import { join } from 'node:path'
import type { Disk, DiskFile } from '../lib/disk.ts'
import type { BlobId, BlobLocation } from './blobs.ts'
import { alignToBatch, BATCH_ALIGNMENT_BYTES, superblockOf, volumeName } from './frames.ts'

/** Header and frames of one blob, ready to be written. */
export interface PackedBlob {
  readonly id: BlobId
  readonly pieces: readonly Buffer[]
  /** The total of all pieces. */
  readonly bytes: number
  readonly length: number
  readonly frameBytes: number
}

interface VolumeWriterOptions {
  readonly disk: Disk
  /** The folder of the volumes. */
  readonly folder: string
  readonly writer: Buffer
  readonly durable: boolean
  readonly volumeBytesMax: number
}

interface PendingWrite {
  readonly blob: PackedBlob
  readonly resolve: (location: BlobLocation) => void
  readonly reject: (error: unknown) => void
}

interface WrittenBlob {
  readonly waiting: PendingWrite
  readonly location: BlobLocation
}

const BATCH_BYTES_MAX = 4 * 2 ** 20
/** The kernel accepts 1,024 buffers per call (IOV_MAX); a batch within that is one call. */
const BATCH_PIECES_MAX = 1000
/** During a sync, smaller batches wait for its end: on their own they would be mostly padding. */
const EAGER_BYTES_MIN = 256 * 1024
const PADDING = Buffer.alloc(BATCH_ALIGNMENT_BYTES)

/** One volume file while it is being appended to. */
class Volume {
  readonly name: string
  end = BATCH_ALIGNMENT_BYTES
  syncing = false
  failure: unknown
  readonly #file: DiskFile
  readonly #durable: boolean
  /** Called after each sync; true when another write is imminent, so that the next sync can cover it too. */
  readonly #synced: () => boolean
  readonly #closed: Promise<void>
  #resolveClosed: () => void = () => {}
  #written: WrittenBlob[] = []
  #writing = false
  #retired = false
  #closing = false

  constructor(name: string, file: DiskFile, durable: boolean, synced: () => boolean) {
    this.name = name
    this.#file = file
    this.#durable = durable
    this.#synced = synced
    this.#closed = new Promise(resolve => {
      this.#resolveClosed = resolve
    })
  }

  /** Resolves when the batch is written; the following sync resolves or rejects each of its blobs. */
  async write(batch: readonly PendingWrite[]): Promise<void> {
    const pieces: Buffer[] = []
    const landed: WrittenBlob[] = []
    const start = this.end
    for (const waiting of batch) {
      const { pieces: own, bytes, length, frameBytes } = waiting.blob
      landed.push({ waiting, location: { volume: this.name, offset: this.end, length, frameBytes } })
      for (const piece of own) pieces.push(piece)
      this.end += bytes
    }
    const padding = alignToBatch(this.end) - this.end
    if (padding > 0) pieces.push(PADDING.subarray(0, padding))
    this.end += padding
    this.#writing = true
    try {
      await this.#file.write(pieces, start)
      // A sync that failed meanwhile may have dropped these bytes as well.
      if (this.failure !== undefined) throw this.failure
    } catch (error) {
      this.#writing = false
      this.#fail(error)
      throw error
    }
    this.#writing = false
    this.#written.push(...landed)
    void this.#sync()
  }

  /** Accepts no more batches; resolves when the file is closed. */
  retire(): Promise<void> {
    this.#retired = true
    // Bytes that were waiting to share the next batch's sync need one now.
    void this.#sync()
    return this.#closed
  }

  async #sync(): Promise<void> {
    if (this.syncing) return
    while (this.#written.length > 0) {
      const group = this.#written
      this.#written = []
      this.syncing = true
      try {
        if (this.#durable) await this.#file.datasync()
        for (const { waiting, location } of group) waiting.resolve(location)
      } catch (error) {
        for (const { waiting } of group) waiting.reject(error)
        this.#fail(error)
      }
      this.syncing = false
      if (this.#synced() && !this.#retired) break
    }
    this.#closeWhenIdle()
  }

  #fail(error: unknown): void {
    this.failure ??= error
    const refused = this.#written
    this.#written = []
    for (const { waiting } of refused) waiting.reject(error)
    this.#closeWhenIdle()
  }

  #closeWhenIdle(): void {
    if (!this.#retired && this.failure === undefined) return
    if (this.#closing || this.#writing || this.syncing || this.#written.length > 0) return
    this.#closing = true
    // Acknowledged bytes were synced before, so an error on close does not matter.
    this.#file.close().then(this.#resolveClosed, this.#resolveClosed)
  }
}

export class VolumeWriter {
  readonly #options: VolumeWriterOptions
  #volume: Volume | undefined
  #creating: string | undefined
  #number = 0
  #queue: PendingWrite[] = []
  #queuedBytes = 0
  #scheduled = false
  #writing = false

  constructor(options: VolumeWriterOptions) {
    this.#options = options
  }

  get open(): string | undefined {
    // A volume being created counts as open.
    if (this.#creating !== undefined) return this.#creating
    return this.#volume?.failure === undefined ? this.#volume?.name : undefined
  }

  append(blob: PackedBlob): Promise<BlobLocation> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ blob, resolve, reject })
      this.#queuedBytes += blob.bytes
      this.#wake()
    })
  }

  async closeVolume(): Promise<void> {
    const volume = this.#volume
    this.#volume = undefined
    await volume?.retire()
  }

  #wake(): void {
    if (this.#scheduled || this.#writing || this.#queue.length === 0) return
    if (this.#volume?.syncing === true && this.#queuedBytes < EAGER_BYTES_MIN) return
    this.#scheduled = true
    // Deferred: blobs that arrive in the same turn of the event loop join the same batch.
    setImmediate(() => {
      this.#scheduled = false
      void this.#writeBatch()
    })
  }

  async #writeBatch(): Promise<void> {
    this.#writing = true
    const batch = this.#takeBatch()
    try {
      let bytes = 0
      for (const { blob } of batch) bytes += blob.bytes
      // No await between choosing the volume and writing to it: it must not be retired in between.
      const volume = this.#roomy(bytes) ?? (this.#volume = await this.#create())
      this.#creating = undefined
      await volume.write(batch)
    } catch (error) {
      for (const waiting of batch) waiting.reject(error)
    }
    this.#writing = false
    this.#wake()
  }

  #takeBatch(): PendingWrite[] {
    const bytesMax = Math.min(BATCH_BYTES_MAX, this.#options.volumeBytesMax - BATCH_ALIGNMENT_BYTES)
    let bytes = 0
    let pieces = 1
    let count = 0
    for (const { blob } of this.#queue) {
      bytes += blob.bytes
      pieces += blob.pieces.length
      if (count > 0 && (bytes > bytesMax || pieces > BATCH_PIECES_MAX)) break
      this.#queuedBytes -= blob.bytes
      count++
    }
    return this.#queue.splice(0, count)
  }

  /** The open volume, if it has room for this many bytes. */
  #roomy(bytes: number): Volume | undefined {
    const current = this.#volume
    if (current === undefined) return undefined
    const full = current.end > BATCH_ALIGNMENT_BYTES && current.end + bytes > this.#options.volumeBytesMax
    if (current.failure === undefined && !full) return current
    // It closes itself after its last sync.
    void current.retire()
    this.#volume = undefined
    return undefined
  }

  /** A volume's name and superblock are durable before any record refers to it. */
  async #create(): Promise<Volume> {
    const { disk, folder, writer, durable } = this.#options
    const self = { writer, number: ++this.#number }
    const name = volumeName(self)
    const path = join(folder, name)
    this.#creating = name
    const file = await disk.open(path, 'create').catch((error: unknown) => {
      this.#creating = undefined
      throw error
    })
    try {
      await file.write([superblockOf(self)], 0)
      if (durable) {
        await file.datasync()
        await disk.syncFolder(folder)
      }
    } catch (error) {
      await file.close().catch(() => {})
      await disk.remove(path).catch(() => {})
      this.#creating = undefined
      throw error
    }
    return new Volume(name, file, durable, () => {
      this.#wake()
      return this.#writing || this.#scheduled
    })
  }
}

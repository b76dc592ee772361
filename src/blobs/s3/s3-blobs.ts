/**
 * Blobs as objects in a bucket of another S3 store. Objects cannot be appended to: short blobs that arrive together
 * travel as one volume that is never written again, long ones are objects of their own. Frames and their checks are
 * those of files.
 */
import assert from 'node:assert/strict'
import { type Clock, systemClock } from '../../lib/clock.ts'
import type { ReadableFile } from '../../lib/disk.ts'
import { type Random, systemRandom } from '../../lib/random.ts'
import { type S3Address, S3Client } from '../../s3/client.ts'
import type { RetryPolicy } from '../../s3/retries.ts'
import {
  type BlobId,
  type BlobLocation,
  type Blobs,
  type Body,
  type MergeLimits,
  MissingBlob,
  type PackedEntry,
  type VolumeState,
} from '../blobs.ts'
import { FrameBuilder } from '../frame-builder.ts'
import { checkRange, type FrameSource, readFrames, readWholeFrames } from '../frame-reader.ts'
import {
  BLOB_ID_BYTES,
  BLOB_WRITER_BYTES,
  checkFrameBytes,
  FOOTER_BYTES,
  frameStart,
  parseVolumeName,
  storedBytes,
} from '../frames.ts'
import { walkVolume } from '../volume-walk.ts'
import { claimPrefix } from './claim.ts'
import { dropUploads, unfinishedUploads } from './multipart.ts'
import { ObjectFile, StreamedObject } from './object-file.ts'
import { MissingObject, ObjectStore } from './object-store.ts'
import { PartSlots } from './part-slots.ts'
import type { S3Place } from './place.ts'
import { PART_BYTES, SoloUpload, soloIdOf, soloObject } from './solo-upload.ts'
import { checkObjectStore, type StoreFacts } from './store-check.ts'
import { BATCH_BYTES_MAX, VolumeBatches, volumeObject } from './volume-batches.ts'

export interface S3BlobsOptions {
  readonly place: S3Place
  readonly key: S3Address['key']
  /** CA certificate of the other store in PEM form. */
  readonly ca?: string | undefined
  /** Identifies this process; no two processes ever share it. */
  readonly writer: Buffer
  readonly retries?: RetryPolicy
  readonly clock?: Clock
  readonly random?: Random
}

const FRAME_BYTES = 64 * 1024
/** Longer bodies get an object of their own. */
const PACKED_BYTES_MAX = 2 ** 20
const CHUNK_BYTES = 512 * 1024
/** A store that fails over is waited for; a client of ours has not given up by then. */
const RETRIES: RetryPolicy = { forMs: 40_000 }
const SILENCE_MS_MAX = 20_000
const CONNECTIONS_HALF = 64
const PART_MEMORY_BYTES = 240 * 2 ** 20
const SLOT_WAIT_MS_MAX = 30_000

function openObjectStore(options: S3BlobsOptions): ObjectStore {
  const { place, key, ca, retries = RETRIES, clock = systemClock, random = systemRandom } = options
  const { endpoint, bucket, region, virtualHost, prefix } = place
  const client = new S3Client({
    ...{ endpoint, bucket, region, key, virtualHost, ca },
    caSetting: 'the option ca=FILE of the s3:// address',
    inFlight: CONNECTIONS_HALF,
    silenceMsMax: SILENCE_MS_MAX,
  })
  return new ObjectStore({ client, prefix, retries, context: { clock, random } })
}

/** Checks that the other store is fit and that the prefix belongs to no other store; throws if not. */
export const prepareS3Store = (options: S3BlobsOptions, storeId: Buffer): Promise<StoreFacts> =>
  checkS3Store(options, storeId)

/** Tries the store without claiming the prefix. */
export const inspectS3Store = (options: S3BlobsOptions): Promise<StoreFacts> => checkS3Store(options, undefined)

async function checkS3Store(options: S3BlobsOptions, storeId: Buffer | undefined): Promise<StoreFacts> {
  const store = openObjectStore(options)
  try {
    const facts = await checkObjectStore(store, options.writer.toString('hex'))
    if (storeId !== undefined) await claimPrefix(store, storeId)
    return facts
  } finally {
    store.close()
  }
}

/** Nothing is sent before the first call. */
export function openS3Blobs(options: S3BlobsOptions): Blobs {
  assert.equal(options.writer.length, BLOB_WRITER_BYTES, 'a writer is named by six bytes')
  return new S3Blobs(openObjectStore(options), options)
}

class S3Blobs implements Blobs {
  /** Volumes of one batch are often tiny, and every one of them is an object to list and to pay for. */
  readonly merging: MergeLimits = { volumeBytesMin: BATCH_BYTES_MAX / 4, groupBytes: BATCH_BYTES_MAX }
  readonly #store: ObjectStore
  readonly #batches: VolumeBatches
  readonly #slots: PartSlots
  readonly #writes = new Set<Promise<BlobLocation>>()
  /** Solo blobs in hex that have an unfinished upload, as of the last listing. */
  readonly #unfinished = new Set<string>()
  #closed = false

  constructor(store: ObjectStore, { writer, clock = systemClock }: S3BlobsOptions) {
    this.#store = store
    this.#batches = new VolumeBatches(store, writer)
    this.#slots = new PartSlots(clock, PART_MEMORY_BYTES / PART_BYTES, SLOT_WAIT_MS_MAX)
  }

  /** The other store does not tell how much space it has; when it is full it refuses the write. */
  ensureSpace(): undefined {
    return undefined
  }

  async write(id: BlobId, body: Body, frameBytes = FRAME_BYTES): Promise<BlobLocation> {
    assert.equal(id.length, BLOB_ID_BYTES, 'a blob id has 16 bytes')
    checkFrameBytes(frameBytes)
    if (this.#closed) throw new Error('the blobs are closed')
    const writing = this.#write(id, body, frameBytes)
    this.#writes.add(writing)
    try {
      return await writing
    } finally {
      this.#writes.delete(writing)
    }
  }

  async #write(id: BlobId, body: Body, frameBytes: number): Promise<BlobLocation> {
    const frames = new FrameBuilder(id, frameBytes)
    let solo: SoloUpload | undefined
    const openSolo = (): SoloUpload => {
      if (solo !== undefined) return solo
      frames.head('solo')
      return new SoloUpload(this.#store, this.#slots, id)
    }
    try {
      for await (const chunk of body) {
        for (let at = 0; at < chunk.length; ) {
          at = frames.add(chunk, at)
          if (!frames.atBorder || frames.pendingBytes < CHUNK_BYTES || frames.length <= PACKED_BYTES_MAX) continue
          solo = openSolo()
          await solo.write(frames.take())
        }
      }
      frames.end()
      if (frames.length > PACKED_BYTES_MAX) {
        solo = openSolo()
        return await solo.finish(frames)
      }
    } catch (error) {
      await solo?.abandon()
      throw error
    }
    frames.head('packed')
    const { length, pendingBytes: bytes } = frames
    return this.#batches.append({ id, pieces: frames.take(), bytes, length, frameBytes })
  }

  read(id: BlobId, location: BlobLocation, start: number, end: number): AsyncIterable<Buffer> {
    checkRange(location, start, end)
    const file = this.#fileOf(id, location, start, end)
    const source: FrameSource = { open: async () => file, release: () => file.close() }
    return missingIsDamage(id, readFrames(source, id, location, [start, end]))
  }

  async readAtOnce(id: BlobId, location: BlobLocation, start: number, end: number): Promise<Buffer | undefined> {
    checkRange(location, start, end)
    if (location.volume === undefined) return undefined
    try {
      return await readWholeFrames(new ObjectFile(this.#store, volumeObjectOf(location.volume)), id, location, [
        start,
        end,
      ])
    } catch (error) {
      throw error instanceof MissingObject ? missing(id) : error
    }
  }

  #fileOf(id: BlobId, location: BlobLocation, start: number, end: number): StreamedObject {
    const { volume, offset, length, frameBytes } = location
    const last = Math.ceil(end / frameBytes)
    const isWhole = last === Math.ceil(length / frameBytes)
    const stored = isWhole ? storedBytes(location) : frameStart(last, frameBytes)
    return new StreamedObject(this.#store, volume === undefined ? soloObject(id) : volumeObjectOf(volume), {
      streamFrom: offset + frameStart(Math.floor(start / frameBytes), frameBytes),
      end: offset + stored + (isWhole && volume === undefined ? FOOTER_BYTES : 0),
    })
  }

  /** An upload that never finished is removed as well: it holds space that no listing of objects shows. */
  async remove(id: BlobId, location: BlobLocation): Promise<void> {
    if (location.volume !== undefined) return
    await this.#store.remove(soloObject(id))
    if (this.#unfinished.delete(id.toString('hex'))) await dropUploads(this.#store, soloObject(id))
  }

  async volumes(): Promise<readonly VolumeState[]> {
    const states: VolumeState[] = []
    for await (const { name: object, bytes } of this.#store.list('volumes/')) {
      const name = object.slice('volumes/'.length)
      const writer = parseVolumeName(name)?.writer
      // A volume is complete as soon as it can be listed.
      if (writer !== undefined) states.push({ name, bytes, open: false, newest: false, writer })
    }
    return states
  }

  async *entries(volume: string): AsyncGenerator<PackedEntry, void, undefined> {
    const file: ReadableFile = new ObjectFile(this.#store, volumeObjectOf(volume))
    yield* walkVolume(file, volume)
  }

  /** No volume is ever open. */
  async closeVolume(): Promise<void> {}

  closeIdle(): void {}

  async removeVolume(volume: string): Promise<void> {
    await this.#store.remove(volumeObjectOf(volume))
  }

  /** Also those whose upload was begun and neither completed nor aborted. */
  async *solos(): AsyncGenerator<BlobId, void, undefined> {
    for await (const { name } of this.#store.list('solo/')) {
      const id = soloIdOf(name)
      if (id !== undefined) yield id
    }
    this.#unfinished.clear()
    for await (const { name } of unfinishedUploads(this.#store, 'solo/')) {
      const id = soloIdOf(name)
      if (id === undefined) continue
      this.#unfinished.add(id.toString('hex'))
      yield id
    }
  }

  /** Waits for writes in progress. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#writes)
    this.#store.close()
  }
}

/** Names come from records: only a valid volume name may become part of a key. */
function volumeObjectOf(volume: string): string {
  assert(parseVolumeName(volume) !== undefined, `${JSON.stringify(volume)} is not a volume`)
  return volumeObject(volume)
}

const missing = (id: BlobId): MissingBlob => new MissingBlob(id, 'the object that held it is missing')

async function* missingIsDamage(id: BlobId, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* bytes
  } catch (error) {
    throw error instanceof MissingObject ? missing(id) : error
  }
}

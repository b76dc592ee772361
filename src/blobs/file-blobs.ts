/**
 * Blobs in the files of a folder: short ones packed into volumes, long ones in a file each. It knows ids, locations and
 * bytes; the store above decides which are still needed and removes the rest.
 */
import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { takeChunk } from '../lib/buffer-pool.ts'
import type { Disk, DiskFile } from '../lib/disk.ts'
import { type MaybePromise, withFinally } from '../lib/maybe-promise.ts'
import { abandon, readerOf } from '../lib/piece-stream.ts'
import { noteExternalBytes } from '../lib/runtime.ts'
import { BlobCache, defaultCacheBytes } from './blob-cache.ts'
import {
  type BlobId,
  type BlobLocation,
  type Blobs,
  type Body,
  DiskFull,
  MissingBlob,
  type PackedEntry,
  type VolumeState,
} from './blobs.ts'
import { Discards } from './discards.ts'
import { FolderSync } from './folder-sync.ts'
import { FrameBuilder } from './frame-builder.ts'
import { checkRange, type FrameSource, readFrames, readWholeFrames } from './frame-reader.ts'
import { BLOB_ID_BYTES, BLOB_WRITER_BYTES, checkFrameBytes, parseVolumeName } from './frames.ts'
import { type OpenVolume, OpenVolumes } from './open-volumes.ts'
import { type SoloFiles, SoloFolders, SoloWriter, soloFolder, soloPath } from './solo.ts'
import { Space } from './space.ts'
import { walkVolume } from './volume-walk.ts'
import { VolumeWriter } from './volume-writer.ts'

export interface BlobsOptions {
  readonly disk: Disk
  readonly folder: string
  /** Identifies this process; no two processes ever share it. */
  readonly writer: Buffer
  /** 'os' leaves syncing to the operating system: only to prove that the crash tests would notice. */
  readonly durability?: 'fsync' | 'os'
  /** Kept free on the filesystem. */
  readonly reserveBytes?: number
  /** Longer bodies get a file of their own. */
  readonly packedBytesMax?: number
  readonly volumeBytesMax?: number
  /** Of packed blobs in memory. */
  readonly cacheBytesMax?: number
}

const FRAME_BYTES = 64 * 1024
export const RESERVE_BYTES = 64 * 2 ** 20
const PACKED_BYTES_MAX = 2 ** 20
const VOLUME_BYTES_MAX = 256 * 2 ** 20
/** A long body is written in chunks of this size. */
const CHUNK_BYTES = 512 * 1024

export async function openBlobs(options: BlobsOptions): Promise<Blobs> {
  const { disk, folder, writer, durability = 'fsync' } = options
  assert.equal(writer.length, BLOB_WRITER_BYTES, 'a writer is named by six bytes')
  const volumes = join(folder, 'volumes')
  const solo = join(folder, 'solo')
  await disk.makeFolder(volumes)
  await disk.makeFolder(solo)
  if (durability === 'fsync') {
    // A process may have created them and died before it synced their names.
    await disk.syncFolder(folder)
    await disk.syncFolder(dirname(folder))
  }
  return new FileBlobs(options, volumes, solo)
}

class FileBlobs implements Blobs {
  readonly #disk: Disk
  readonly #volumesFolder: string
  readonly #packedBytesMax: number
  readonly #durable: boolean
  readonly #space: Space
  readonly #writer: VolumeWriter
  readonly #solo: SoloFiles
  readonly #soloFolders: SoloFolders
  readonly #folders: FolderSync
  readonly #readers: OpenVolumes
  readonly #cache: BlobCache
  readonly #writes = new Set<Promise<BlobLocation>>()
  readonly #discards: Discards
  #closed = false

  constructor(options: BlobsOptions, volumesFolder: string, soloRoot: string) {
    const { disk, folder, writer, durability = 'fsync', volumeBytesMax = VOLUME_BYTES_MAX } = options
    this.#disk = disk
    this.#volumesFolder = volumesFolder
    this.#packedBytesMax = options.packedBytesMax ?? PACKED_BYTES_MAX
    this.#durable = durability === 'fsync'
    this.#space = new Space(disk, folder, options.reserveBytes ?? RESERVE_BYTES)
    const durable = this.#durable
    this.#writer = new VolumeWriter({ disk, folder: volumesFolder, writer, durable, volumeBytesMax })
    this.#folders = new FolderSync(disk)
    this.#discards = new Discards(disk)
    // A failed upload does not wait for what is being freed.
    this.#solo = { disk, root: soloRoot, folders: this.#folders, discards: new Discards(disk), durable }
    this.#soloFolders = new SoloFolders(this.#solo)
    this.#readers = new OpenVolumes(disk, volumesFolder)
    this.#cache = new BlobCache(options.cacheBytesMax ?? defaultCacheBytes())
  }

  async write(
    id: BlobId,
    body: Body,
    frameBytes = FRAME_BYTES,
    torn: 'remove' | 'keep' = 'remove',
  ): Promise<BlobLocation> {
    assert.equal(id.length, BLOB_ID_BYTES, 'a blob id has 16 bytes')
    checkFrameBytes(frameBytes)
    if (this.#closed) throw new Error('the blobs are closed')
    const writing = this.#store(new FrameBuilder(id, frameBytes), body, torn)
    this.#writes.add(writing)
    try {
      return await writing
    } catch (error) {
      throw isFull(error) ? new DiskFull(error) : error
    } finally {
      this.#writes.delete(writing)
    }
  }

  async #store(frames: FrameBuilder, body: Body, torn: 'remove' | 'keep'): Promise<BlobLocation> {
    await this.#space.ensureSpace(0)
    const reader = readerOf(body)
    let solo: SoloWriter | undefined
    try {
      for (;;) {
        const reading = reader.read()
        const chunk = reading instanceof Promise ? await reading : reading
        if (chunk === undefined) break
        for (let at = 0; at < chunk.length; ) {
          at = frames.add(chunk, at)
          if (!frames.atBorder || frames.pendingBytes < CHUNK_BYTES) continue
          if (frames.length <= this.#packedBytesMax) continue
          solo ??= await this.#createSolo(frames)
          await this.#flush(solo, frames)
        }
      }
      frames.end()
      if (frames.length > this.#packedBytesMax) {
        solo ??= await this.#createSolo(frames)
        await this.#space.ensureSpace(frames.pendingBytes)
        return await solo.finish(frames)
      }
    } catch (error) {
      await abandon(reader)
      await solo?.abandon(torn)
      throw error
    }
    frames.head('packed')
    const { id, frameBytes, length, pendingBytes: bytes } = frames
    await this.#space.ensureSpace(bytes)
    return this.#writer.append({ id, pieces: frames.take(), bytes, length, frameBytes })
  }

  async #createSolo(frames: FrameBuilder): Promise<SoloWriter> {
    frames.head('solo')
    await this.#soloFolders.ready(soloFolder(this.#solo.root, frames.id))
    return SoloWriter.create(this.#solo, frames.id)
  }

  async #flush(solo: SoloWriter, frames: FrameBuilder): Promise<void> {
    const bytes = frames.pendingBytes
    await this.#space.ensureSpace(bytes)
    await solo.write(frames.take(), bytes)
  }

  read(id: BlobId, location: BlobLocation, start: number, end: number): AsyncIterable<Buffer> {
    checkRange(location, start, end)
    const source = location.volume === undefined ? this.#soloSource(id) : this.#volumeSource(id, location.volume)
    return readFrames(source, id, location, [start, end])
  }

  readAtOnce(id: BlobId, location: BlobLocation, start: number, end: number): MaybePromise<Buffer | undefined> {
    checkRange(location, start, end)
    if (location.volume === undefined) return undefined
    const cached = this.#cache.get(id)
    if (cached?.length === location.length) return partOf(cached, start, end)
    const volume = this.#readers.acquire(location.volume)
    const read = withFinally(
      () => volume.file && readWholeFrames(volume.file, id, location, [start, end]),
      () => this.#readers.release(volume),
    )
    if (end - start < location.length) return read
    const offered = (bytes: Buffer | undefined): Buffer | undefined => {
      if (bytes !== undefined) this.#cache.offer(id, bytes)
      return bytes
    }
    return read instanceof Promise ? read.then(offered) : offered(read)
  }

  #soloSource(id: BlobId): FrameSource {
    let opening: Promise<DiskFile> | undefined
    return {
      open: () => {
        opening = this.#disk.open(soloPath(this.#solo.root, id), 'read')
        return found(id, opening)
      },
      // Nothing was written through it, so closing cannot lose anything.
      release: () => void opening?.then(file => file.close()).catch(() => {}),
    }
  }

  #volumeSource(id: BlobId, name: string): FrameSource {
    let volume: OpenVolume | undefined
    return {
      open: () => {
        volume = this.#readers.acquire(name)
        return found(id, volume.opening)
      },
      release: () => {
        if (volume !== undefined) this.#readers.release(volume)
      },
    }
  }

  async remove(id: BlobId, location: BlobLocation): Promise<void> {
    if (location.volume === undefined) await this.#discards.remove(soloPath(this.#solo.root, id))
  }

  async volumes(): Promise<readonly VolumeState[]> {
    const found: { name: string; writer: Buffer; number: number }[] = []
    const newest = new Map<string, number>()
    for (const name of await this.#disk.list(this.#volumesFolder)) {
      const parsed = parseVolumeName(name)
      if (parsed === undefined) continue
      found.push({ name, ...parsed })
      const writer = parsed.writer.toString('hex')
      newest.set(writer, Math.max(parsed.number, newest.get(writer) ?? 0))
    }
    const states: VolumeState[] = []
    for (const { name, writer, number } of found) {
      const bytes = await this.#volumeBytes(name)
      if (bytes === undefined) continue
      const isNewest = number === newest.get(writer.toString('hex'))
      states.push({ name, bytes, open: name === this.#writer.open, newest: isNewest, writer })
    }
    return states
  }

  /** Undefined if another process has removed the volume since it was listed. */
  async #volumeBytes(name: string): Promise<number | undefined> {
    let file: DiskFile
    try {
      file = await this.#disk.open(join(this.#volumesFolder, name), 'read')
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
    try {
      return await file.size()
    } finally {
      await file.close()
    }
  }

  ensureSpace(bytes: number): Promise<void> | undefined {
    return this.#space.ensureSpace(bytes)
  }

  async *entries(volume: string): AsyncGenerator<PackedEntry, void, undefined> {
    const borrowed = this.#readers.acquire(volume)
    try {
      yield* walkVolume(await borrowed.opening, volume)
    } finally {
      this.#readers.release(borrowed)
    }
  }

  closeVolume(): Promise<void> {
    return this.#writer.closeVolume()
  }

  closeIdle(): void {
    this.#readers.forgetIdle()
  }

  async removeVolume(volume: string): Promise<void> {
    assert(parseVolumeName(volume) !== undefined, `${JSON.stringify(volume)} is not a volume`)
    assert(volume !== this.#writer.open, `volume ${volume} is still being written`)
    this.#readers.forget(volume)
    await this.#discards.remove(join(this.#volumesFolder, volume))
    if (this.#durable) await this.#folders.sync(this.#volumesFolder)
  }

  async *solos(): AsyncGenerator<BlobId, void, undefined> {
    if (this.#disk.walk !== undefined) {
      for await (const name of this.#disk.walk(this.#solo.root)) if (isSoloName(name)) yield Buffer.from(name, 'hex')
      return
    }
    for (const folder of await this.#disk.list(this.#solo.root)) {
      if (!/^[0-9a-f]{2}$/.test(folder)) continue
      for (const name of await this.#disk.list(join(this.#solo.root, folder))) {
        if (isSoloName(name) && name.endsWith(folder)) yield Buffer.from(name, 'hex')
      }
    }
  }

  /** Waits for writes in progress; reads in progress may finish. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#writes)
    await this.#writer.closeVolume()
    this.#readers.forgetAll()
  }
}

/** A part is copied: a client that takes its time must not keep a whole blob in memory for a few bytes of it. */
function partOf(whole: Buffer, start: number, end: number): Buffer {
  if (end - start === whole.length) return whole
  noteExternalBytes?.(end - start)
  const part = takeChunk(end - start)
  whole.copy(part, 0, start, end)
  return part
}

const isSoloName = (name: string): boolean => /^[0-9a-f]{32}$/.test(name)

async function found<T>(id: BlobId, opening: Promise<T>): Promise<T> {
  try {
    return await opening
  } catch (error) {
    throw isMissing(error) ? new MissingBlob(id, 'the file that held it is missing') : error
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code
const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT'
/** An exhausted quota counts as a full disk. */
const isFull = (error: unknown): boolean => codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT'

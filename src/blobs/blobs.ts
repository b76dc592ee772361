/**
 * Immutable bytes. `write` resolves when they are on stable storage and returns their location; nothing is changed in
 * place afterwards. A blob has no name until a record points at it: this layer knows ids, locations and files, but no
 * buckets.
 */
import type { MaybePromise } from '../lib/maybe-promise.ts'

/** 16 bytes: the first six identify the writing process, so that a sweep can attribute unnamed bytes. */
export type BlobId = Buffer

/** `volume` is undefined for a blob in a file of its own. */
export interface BlobLocation {
  readonly volume: string | undefined
  readonly offset: number
  /** Payload bytes, without headers and checksums. */
  readonly length: number
  /** Payload bytes per checksummed frame: a read costs whole frames, so sealed blobs choose a multiple of theirs. */
  readonly frameBytes: number
}

export type Body = AsyncIterable<Buffer> | Iterable<Buffer>

export interface PackedEntry {
  readonly id: BlobId
  readonly location: BlobLocation
}

export interface VolumeState {
  readonly name: string
  /** Size of the file. */
  readonly bytes: number
  /** True while this process still appends to it. */
  readonly open: boolean
  /** The last volume of its writer: if that process is alive, it may still append to it. */
  readonly newest: boolean
  /** The process that wrote it (the first six bytes of its blob ids). */
  readonly writer: Buffer
}

export interface BlobCapacity {
  readonly totalBytes: number
  readonly freeBytes: number
}

/** For engines in which every batch is a volume of its own, so that many volumes are tiny. */
export interface MergeLimits {
  /** Compaction merges smaller volumes. */
  readonly volumeBytesMin: number
  /** Blobs of up to this size in total, written at once, become one volume. */
  readonly groupBytes: number
}

/** Two places of blobs while everything moves from one to the other. */
export interface MovingPlaces {
  readonly source: Blobs
  readonly target: Blobs
}

export interface Blobs {
  /** Present while the blobs move to another place. */
  readonly moving?: MovingPlaces
  /** Absent where volumes grow by appending. */
  readonly merging?: MergeLimits
  /** Throws DiskFull if this many bytes would eat into the reserve; for bytes stored elsewhere on this disk. */
  ensureSpace(bytes: number): Promise<void> | undefined
  /**
   * Durable when it resolves. A body that throws leaves only dead bytes behind. Where another process may write the
   * same blob, a torn one must be kept: nothing is removed by its name, which may be that of the other's by then.
   */
  write(id: BlobId, body: Body, frameBytes?: number, torn?: 'remove' | 'keep'): Promise<BlobLocation>
  /** Payload bytes [start, end); every frame is checked before its bytes are returned. Streams with back-pressure. */
  read(id: BlobId, location: BlobLocation, start: number, end: number): AsyncIterable<Buffer>
  /** The same range as one buffer, without waiting where it is cached; undefined where it must be streamed. */
  readAtOnce(id: BlobId, location: BlobLocation, start: number, end: number): MaybePromise<Buffer | undefined>
  /** Frees a solo file at once; compaction frees packed bytes. */
  remove(id: BlobId, location: BlobLocation): Promise<void>

  volumes(): Promise<readonly VolumeState[]>
  /** Every whole record of a volume in file order, headers only; ends at the first torn or foreign byte. */
  entries(volume: string): AsyncIterable<PackedEntry>
  /** Closes the open volume, if any; the next packed write starts a new one. */
  closeVolume(): Promise<void>
  /** Closes files without readers: a file that another process removes keeps its space while it is open. */
  closeIdle(): void
  /** Unlinks a volume that no record points at. */
  removeVolume(volume: string): Promise<void>
  /** Ids of all solo blobs, named or not. */
  solos(): AsyncIterable<BlobId>
  /** Space in the engine that stores the blobs. Drivers whose engine does not report it lack the method. */
  capacity?(): Promise<BlobCapacity>
  close(): Promise<void>
}

/** Stored bytes do not match their checksum, length or id. Readers get this instead of wrong bytes. */
export class DamagedBlob extends Error {
  readonly id: BlobId
  constructor(id: BlobId, what: string) {
    super(`blob ${id.toString('hex')}: ${what}`)
    this.name = 'DamagedBlob'
    this.id = id
  }
}

/** There is nothing where the blob should be. */
export class MissingBlob extends DamagedBlob {}

/** The disk is full; stored bytes stay readable and removable. */
export class DiskFull extends Error {
  constructor(cause?: unknown) {
    super('no space is left for object data', { cause })
    this.name = 'DiskFull'
  }
}

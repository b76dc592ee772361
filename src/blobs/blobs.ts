/**
 * Immutable bytes. `write` resolves when they are on stable storage and says where; nothing is changed in place
 * afterwards. A blob has no name until a record points at it: this floor knows ids, places and files, no buckets.
 */

/** 16 bytes: the first six name the process that wrote it, so that a sweep can tell whose unnamed bytes these are. */
export type BlobId = Buffer

/** Where a blob lies. `volume` is undefined for a blob that has a file of its own. */
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
  /** Bytes of the file. */
  readonly bytes: number
  /** True while this process still appends to it. */
  readonly open: boolean
  /** No later one by the same process: if that lives, it may still append to it. */
  readonly newest: boolean
  /** Process that wrote it (the first six bytes of its blob ids). */
  readonly writer: Buffer
}

export interface Blobs {
  /**
   * Throws DiskFull when so many bytes would eat into the reserve; for bytes that are stored elsewhere on this disk.
   */
  ensureSpace(bytes: number): Promise<void> | undefined
  /** Durable when it resolves. A body that throws leaves nothing behind but dead bytes. */
  write(id: BlobId, body: Body, frameBytes?: number): Promise<BlobLocation>
  /** Payload bytes [start, end), every frame checked before any of it is handed on. Streams with back-pressure. */
  read(id: BlobId, location: BlobLocation, start: number, end: number): AsyncIterable<Buffer>
  /** The same in one piece, and at once where it is at hand; undefined where it has to be streamed. */
  readAtOnce(id: BlobId, location: BlobLocation, start: number, end: number): Promise<Buffer | undefined>
  /** Frees a file of its own at once; packed bytes come back by compaction. */
  remove(id: BlobId, location: BlobLocation): Promise<void>

  volumes(): Promise<readonly VolumeState[]>
  /** Every whole record of a volume in file order, headers only; ends at the first torn or foreign byte. */
  entries(volume: string): AsyncIterable<PackedEntry>
  /** Stops appending to the volume that is open now, if any; the next packed write starts a new one. */
  closeVolume(): Promise<void>
  /** Closes files that nobody reads just now: one that another process removes keeps its space while it is open. */
  closeIdle(): void
  /** Unlinks a volume that nothing points at any more. */
  removeVolume(volume: string): Promise<void>
  /** Ids of all blobs that have a file of their own, named or not. */
  solos(): AsyncIterable<BlobId>
  close(): Promise<void>
}

/** Stored bytes do not match their checksum, length or id. The reader gets this instead of wrong bytes. */
export class DamagedBlob extends Error {
  readonly id: BlobId
  constructor(id: BlobId, what: string) {
    super(`blob ${id.toString('hex')}: ${what}`)
    this.name = 'DamagedBlob'
    this.id = id
  }
}

/** There is no room for more bytes; what is stored stays readable and removable. */
export class DiskFull extends Error {
  constructor(cause?: unknown) {
    super('no space is left for object data', { cause })
    this.name = 'DiskFull'
  }
}

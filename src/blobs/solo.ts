/** Blobs in files of their own: their paths, and writing them while the body arrives. */
import { join } from 'node:path'
import type { Disk, DiskFile } from '../lib/disk.ts'
import type { BlobId, BlobLocation } from './blobs.ts'
import type { Discards } from './discards.ts'
import type { FolderSync } from './folder-sync.ts'
import type { FrameBuilder } from './frame-builder.ts'
import { BLOB_ID_BYTES, footerOf } from './frames.ts'

/** After this many bytes a sync starts ahead of the final one. */
const PUSH_BYTES = 8 * 2 ** 20

/** Spread over 256 folders by the last byte of the id: the first bytes identify the writer and hardly vary. */
export function soloFolder(root: string, id: BlobId): string {
  return join(root, id.toString('hex', BLOB_ID_BYTES - 1))
}

export function soloPath(root: string, id: BlobId): string {
  return join(soloFolder(root, id), id.toString('hex'))
}

export interface SoloFiles {
  readonly disk: Disk
  /** The parent of the 256 folders. */
  readonly root: string
  readonly folders: FolderSync
  readonly discards: Discards
  readonly durable: boolean
}

/** Folders known to be durable; each is created once, however many writers need it. */
export class SoloFolders {
  readonly #files: SoloFiles
  readonly #made = new Map<string, Promise<void>>()

  constructor(files: SoloFiles) {
    this.#files = files
  }

  ready(folder: string): Promise<void> {
    let made = this.#made.get(folder)
    if (made === undefined) {
      made = this.#make(folder)
      this.#made.set(folder, made)
      made.catch(() => this.#made.delete(folder))
    }
    return made
  }

  async #make(folder: string): Promise<void> {
    const { disk, root, folders, durable } = this.#files
    await disk.makeFolder(folder)
    // Another process may have just created it, or died before its name was durable.
    if (durable) await folders.sync(root)
  }
}

export class SoloWriter {
  readonly #files: SoloFiles
  readonly #id: BlobId
  readonly #path: string
  readonly #file: DiskFile
  readonly #named: Promise<void>
  /** The write in progress. It runs while the next chunk is filled: at most two chunks are in memory. */
  #writing: Promise<void> = Promise.resolve()
  #end = 0
  #pushedTo = 0
  #pushing: Promise<void> | undefined
  /** A failed sync is not retried: it fails the blob, even if a later sync succeeds. */
  #pushFailure: unknown

  private constructor(files: SoloFiles, id: BlobId, file: DiskFile) {
    this.#files = files
    this.#id = id
    this.#path = soloPath(files.root, id)
    this.#file = file
    // The name is synced while the body arrives, and costs nothing at the end.
    this.#named = files.durable ? files.folders.sync(soloFolder(files.root, id)) : Promise.resolve()
    this.#named.catch(() => {})
  }

  static async create(files: SoloFiles, id: BlobId): Promise<SoloWriter> {
    return new SoloWriter(files, id, await files.disk.open(soloPath(files.root, id), 'create'))
  }

  /** Resolves when the previous write is done. */
  async write(pieces: readonly Buffer[], bytes: number): Promise<void> {
    await this.#writing
    if (this.#pushFailure !== undefined) throw this.#pushFailure
    const position = this.#end
    this.#end += bytes
    this.#writing = this.#file.write(pieces, position)
    this.#writing.catch(() => {})
    if (position - this.#pushedTo >= PUSH_BYTES) this.#push(position)
  }

  /** Starts writing back dirty pages while the body still arrives, so that the final sync is short. */
  #push(position: number): void {
    if (!this.#files.durable || this.#pushing !== undefined) return
    this.#pushedTo = position
    this.#pushing = this.#file.datasync().then(
      () => {
        this.#pushing = undefined
      },
      error => {
        this.#pushFailure = error
      },
    )
  }

  /** Writes the rest and the footer; resolves when bytes and name are durable. */
  async finish(frames: FrameBuilder): Promise<BlobLocation> {
    const { length, frameBytes, pendingBytes } = frames
    const foot = footerOf(this.#id, length)
    await this.write([...frames.take(), foot], pendingBytes + foot.length)
    await this.#writing
    await this.#pushing
    if (this.#pushFailure !== undefined) throw this.#pushFailure
    if (this.#files.durable) await this.#file.datasync()
    await this.#named
    // The bytes are durable already, so an error on close does not matter.
    await this.#file.close().catch(() => {})
    return { volume: undefined, offset: 0, length, frameBytes }
  }

  /** If a removal fails, no record names the file and a sweep finds it. */
  async abandon(torn: 'remove' | 'keep'): Promise<void> {
    await this.#writing.catch(() => {})
    await this.#pushing
    await this.#file.close().catch(() => {})
    if (torn === 'remove') await this.#files.discards.remove(this.#path).catch(() => {})
    await this.#named.catch(() => {})
  }
}

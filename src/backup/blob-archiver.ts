/** Archives the blobs of a run: finds those already archived, copies the others, and records the location of each. */
import { createHash } from 'node:crypto'
import { type BlobLocation, DamagedBlob } from '../blobs/blobs.ts'
import type { BackupOptions } from './backup-options.ts'
import { type BlobHead, BlobRefused, blobsIn, type IncomingBlob } from './blob-row.ts'
import { type IndexEntry, indexFormat, MergeLookup } from './index-entry.ts'
import type { Manifest } from './manifest.ts'
import { DamagedBackup, type RunWriter, type Vault } from './vault.ts'

export type BlobToArchive = BlobHead

/** Blobs per request. */
const COPIES_MAX = 256
const COPY_BYTES_MAX = 64 * 2 ** 20
/** Index entries that wait for earlier copies. */
const PENDING_MAX = 4096
/** Up to this size blobs are buffered, and many share one sync; larger ones stream. */
const WHOLE_BYTES_MAX = 2 ** 20
/** Shorter than the server's lease timeout. */
const KEEPALIVE_MS = 60_000

export class BlobArchiver {
  readonly #options: BackupOptions
  readonly #backup: string
  readonly #before: MergeLookup
  /** Blobs present in the vault but not in the previous run's index. */
  readonly #found = new Map<string, BlobLocation>()
  readonly #solos = new Set<string>()
  readonly #volumes = new Map<string, number>()
  #pending: { readonly id: Buffer; readonly archived: IndexEntry | undefined }[] = []
  #copies: BlobToArchive[] = []
  #copyBytes = 0
  #lastKeepAlive: number
  readonly totals = { count: 0, bytes: 0, copied: 0, copiedBytes: 0 }
  readonly damaged: { readonly id: string; readonly message: string }[] = []

  private constructor(options: BackupOptions, backup: string, before: MergeLookup) {
    this.#options = options
    this.#backup = backup
    this.#before = before
    this.#lastKeepAlive = options.clock.elapsed()
  }

  static async open(options: BackupOptions, backup: string, last: Manifest | undefined): Promise<BlobArchiver> {
    const none = async function* (): AsyncGenerator<never> {}
    const index = last === undefined ? none() : options.vault.entries(last.run, 'index', last.index.sha256)
    const archiver = new BlobArchiver(options, backup, new MergeLookup(index))
    await archiver.#lookThrough(new Set(last?.volumes))
    return archiver
  }

  /** Finds what is there: the previous run knows the blobs of its volumes, an interrupted one may have left more. */
  async #lookThrough(known: ReadonlySet<string>): Promise<void> {
    const { blobs } = this.#options.vault
    for (const { name, bytes } of await blobs.volumes()) {
      this.#volumes.set(name, bytes)
      if (known.has(name)) continue
      for await (const { id, location } of blobs.entries(name)) {
        this.#found.set(id.toString('hex'), location)
        await this.#goOn()
      }
    }
    for await (const id of blobs.solos()) {
      this.#solos.add(id.toString('hex'))
      await this.#goOn()
    }
  }

  /** Called often while the vault is read, which may take longer than a lease lasts. */
  async #goOn(): Promise<void> {
    await this.#keepAlive()
    await this.#options.pace?.()
  }

  /** Archives a blob. Its index entry is written after those of all blobs requested before. */
  async archive(wanted: BlobToArchive, index: RunWriter): Promise<void> {
    this.totals.count++
    this.totals.bytes += wanted.length
    const archived = await this.#findArchived(wanted)
    this.#pending.push({ id: wanted.id, archived })
    if (archived === undefined) {
      this.#copies.push(wanted)
      this.#copyBytes += wanted.length
    }
    const enough = this.#copies.length >= COPIES_MAX || this.#copyBytes >= COPY_BYTES_MAX
    if (enough || this.#pending.length >= PENDING_MAX) await this.flush(index)
  }

  /** A blob in the previous index is accepted by its location; its bytes are read when the backup is verified. */
  async #findArchived(wanted: BlobToArchive): Promise<IndexEntry | undefined> {
    const name = wanted.id.toString('hex')
    const listed = await this.#before.find(wanted.id)
    if (listed !== undefined) {
      const entry = indexFormat.decode(listed)
      const exists =
        entry.volume === undefined
          ? this.#solos.has(name)
          : (this.#volumes.get(entry.volume) ?? 0) >= entry.offset + entry.length
      if (exists && !this.#options.recheck) return entry
      if (exists) return this.#read(wanted, entry)
    }
    const solo = { ...wanted, volume: undefined, offset: 0 }
    const place = this.#found.get(name) ?? (this.#solos.has(name) ? solo : undefined)
    return place === undefined ? undefined : this.#read(wanted, place)
  }

  /** Bytes left by an interrupted run may be torn, so they count only after a full read. */
  async #read({ id, length, frameBytes }: BlobToArchive, location: BlobLocation): Promise<IndexEntry | undefined> {
    const { blobs } = this.#options.vault
    const hash = createHash('sha256')
    try {
      if (location.length !== length || location.frameBytes !== frameBytes)
        throw new DamagedBlob(id, 'has another length or frame size')
      for await (const chunk of blobs.read(id, location, 0, length)) {
        hash.update(chunk)
        await this.#goOn()
      }
    } catch (error) {
      if (!(error instanceof DamagedBlob) && (error as NodeJS.ErrnoException).code !== 'EIO') throw error
      await blobs.remove(id, location)
      return undefined
    }
    const { volume, offset } = location
    return { volume, offset, length, frameBytes, sha256: hash.digest() }
  }

  async #keepAlive(): Promise<void> {
    const { clock, source } = this.#options
    if (clock.elapsed() - this.#lastKeepAlive < KEEPALIVE_MS) return
    this.#lastKeepAlive = clock.elapsed()
    await source.keep(this.#backup)
  }

  close(): Promise<void> {
    return this.#before.close()
  }

  async flush(index: RunWriter): Promise<void> {
    const copied = await this.#copyAll()
    for (const { id, archived } of this.#pending) {
      const entry = archived ?? copied.get(id.toString('hex'))
      if (entry !== undefined) await index.add(id, indexFormat.encode(entry))
    }
    this.#pending = []
    await this.#keepAlive()
    const { count, copied: blobs, copiedBytes } = this.totals
    this.#options.progress(`${count} blobs, of which ${blobs} (${copiedBytes} bytes) copied`)
  }

  async #copyAll(): Promise<ReadonlyMap<string, IndexEntry>> {
    const copied = new Map<string, IndexEntry>()
    const wanted = this.#copies
    this.#copies = []
    this.#copyBytes = 0
    if (wanted.length === 0) return copied
    this.#lastKeepAlive = this.#options.clock.elapsed()
    const writes: Promise<void>[] = []
    let next = 0
    const ids = wanted.map(({ id }) => id)
    for await (const blob of blobsIn(this.#options.source.blobs(this.#backup, ids))) {
      const expected = wanted[next++]
      if (expected === undefined || !expected.id.equals(blob.id) || expected.length !== blob.length) {
        throw new Error('the server sent a blob that was not requested')
      }
      await this.#copy(blob, copied, writes)
    }
    if (next !== wanted.length) throw new Error('the server sent fewer blobs than requested')
    await Promise.all(writes)
    return copied
  }

  async #copy(blob: IncomingBlob, copied: Map<string, IndexEntry>, writes: Promise<void>[]): Promise<void> {
    const { id, length, frameBytes } = blob
    const hash = createHash('sha256')
    const write = async (body: AsyncIterable<Buffer> | Buffer[]): Promise<void> => {
      const location = await this.#options.vault.blobs.write(id, body, frameBytes)
      copied.set(id.toString('hex'), { ...location, sha256: hash.digest() })
      this.totals.copied++
      this.totals.copiedBytes += length
    }
    try {
      const incoming = hashed(blob.bytes, hash)
      if (length > WHOLE_BYTES_MAX) {
        await write(incoming)
        return
      }
      const whole: Buffer[] = []
      for await (const chunk of incoming) whole.push(Buffer.from(chunk))
      const writing = write(whole)
      // Awaited with the others after the last one has arrived.
      writing.catch(() => {})
      writes.push(writing)
    } catch (error) {
      if (!(error instanceof BlobRefused)) throw error
      this.damaged.push({ id: id.toString('hex'), message: error.message })
    }
  }
}

async function* hashed(bytes: AsyncIterable<Buffer>, hash: { update(b: Buffer): unknown }): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
}

/** The newest run with an intact index, which the next run builds on. */
export async function lastIntactRun(vault: Vault): Promise<Manifest | undefined> {
  for (const run of (await vault.runs()).reverse()) {
    try {
      const manifest = await vault.manifest(run)
      for await (const _ of vault.entries(run, 'index', manifest.index.sha256));
      return manifest
    } catch (error) {
      if (!(error instanceof DamagedBackup) && (error as Error).name !== 'DamagedPiece') throw error
    }
  }
  return undefined
}

/** Sees to it that blobs are kept: finds those that are, copies those that are not, and says where each one lies. */
import { createHash } from 'node:crypto'
import { type BlobLocation, DamagedBlob } from '../blobs/blobs.ts'
import type { BackupOptions } from './backup-options.ts'
import { type BlobHead, BlobRefused, blobsIn, type IncomingBlob } from './blob-row.ts'
import { type IndexEntry, indexFormat, MergeLookup } from './index-entry.ts'
import type { Manifest } from './manifest.ts'
import { DamagedBackup, type RunWriter, type Vault } from './vault.ts'

export type WantedBlob = BlobHead

/** Asked for in one call. */
const COPIES_MAX = 256
const COPY_BYTES_MAX = 64 * 2 ** 20
/** Entries that wait for copies before them. */
const WAITING_MAX = 4096
/** Up to this they are taken whole, and many are written with one sync; longer ones stream. */
const WHOLE_BYTES_MAX = 2 ** 20
/** The server waits longer than this for a sign of life. */
const SIGN_MS = 60_000

export class BlobArchiver {
  readonly #taking: BackupOptions
  readonly #backup: string
  readonly #before: MergeLookup
  /** What is there without standing in the index of the run before. */
  readonly #found: Map<string, BlobLocation>
  readonly #solos: ReadonlySet<string>
  readonly #volumes: ReadonlyMap<string, number>
  #waiting: { readonly id: Buffer; readonly kept: IndexEntry | undefined }[] = []
  #copies: WantedBlob[] = []
  #copyBytes = 0
  #lastSign: number
  readonly totals = { count: 0, bytes: 0, copied: 0, copiedBytes: 0 }
  readonly damaged: { readonly id: string; readonly message: string }[] = []

  private constructor(
    taking: BackupOptions,
    backup: string,
    there: { before: MergeLookup; found: Map<string, BlobLocation>; solos: Set<string>; volumes: Map<string, number> },
  ) {
    this.#taking = taking
    this.#backup = backup
    this.#before = there.before
    this.#found = there.found
    this.#solos = there.solos
    this.#volumes = there.volumes
    this.#lastSign = taking.clock.elapsed()
  }

  static async open(taking: BackupOptions, backup: string, last: Manifest | undefined): Promise<BlobArchiver> {
    const { vault } = taking
    const known = new Set(last?.volumes)
    const found = new Map<string, BlobLocation>()
    const volumes = new Map<string, number>()
    for (const { name, bytes } of await vault.blobs.volumes()) {
      volumes.set(name, bytes)
      if (known.has(name)) continue
      for await (const { id, place } of vault.blobs.records(name)) found.set(id.toString('hex'), place)
    }
    const solos = new Set<string>()
    for await (const id of vault.blobs.solos()) solos.add(id.toString('hex'))
    const none = async function* (): AsyncGenerator<never> {}
    const before = new MergeLookup(last === undefined ? none() : vault.entries(last.run, 'index', last.index.sha256))
    return new BlobArchiver(taking, backup, { before, found, solos, volumes })
  }

  /** Its entry goes to the index, after those of all that were wanted before. */
  async want(wanted: WantedBlob, index: RunWriter): Promise<void> {
    this.totals.count++
    this.totals.bytes += wanted.length
    const kept = await this.#kept(wanted)
    this.#waiting.push({ id: wanted.id, kept })
    if (kept === undefined) {
      this.#copies.push(wanted)
      this.#copyBytes += wanted.length
    }
    const enough = this.#copies.length >= COPIES_MAX || this.#copyBytes >= COPY_BYTES_MAX
    if (enough || this.#waiting.length >= WAITING_MAX) await this.flush(index)
  }

  /** Until here a run needs only to be told where bytes lie; what it was told is read when the backup is verified. */
  async #kept(wanted: WantedBlob): Promise<IndexEntry | undefined> {
    const name = wanted.id.toString('hex')
    const listed = await this.#before.find(wanted.id)
    if (listed !== undefined) {
      const entry = indexFormat.decode(listed)
      const isThere =
        entry.volume === undefined
          ? this.#solos.has(name)
          : (this.#volumes.get(entry.volume) ?? 0) >= entry.offset + entry.length
      if (isThere && !this.#taking.recheck) return entry
      if (isThere) return this.#read(wanted, entry)
    }
    const solo = { ...wanted, volume: undefined, offset: 0 }
    const place = this.#found.get(name) ?? (this.#solos.has(name) ? solo : undefined)
    return place === undefined ? undefined : this.#read(wanted, place)
  }

  /** What was left by a run that broke off may be torn: it counts when every byte of it was read. */
  async #read({ id, length, frameBytes }: WantedBlob, place: BlobLocation): Promise<IndexEntry | undefined> {
    const { blobs } = this.#taking.vault
    const hash = createHash('sha256')
    try {
      if (place.length !== length || place.frameBytes !== frameBytes) throw new DamagedBlob(id, 'has another shape')
      for await (const chunk of blobs.read(id, place, 0, length)) {
        hash.update(chunk)
        await this.#sign()
      }
    } catch (error) {
      if (!(error instanceof DamagedBlob) && (error as NodeJS.ErrnoException).code !== 'EIO') throw error
      await blobs.remove(id, place)
      return undefined
    }
    const { volume, offset } = place
    return { volume, offset, length, frameBytes, sha256: hash.digest() }
  }

  async #sign(): Promise<void> {
    const { clock, source } = this.#taking
    if (clock.elapsed() - this.#lastSign < SIGN_MS) return
    this.#lastSign = clock.elapsed()
    await source.keep(this.#backup)
  }

  close(): Promise<void> {
    return this.#before.close()
  }

  async flush(index: RunWriter): Promise<void> {
    const copied = await this.#copyAll()
    for (const { id, kept } of this.#waiting) {
      const entry = kept ?? copied.get(id.toString('hex'))
      if (entry !== undefined) await index.add(id, indexFormat.encode(entry))
    }
    this.#waiting = []
    await this.#sign()
    const { count, copied: blobs, copiedBytes } = this.totals
    this.#taking.progress(`${count} blobs, of which ${blobs} (${copiedBytes} bytes) copied`)
  }

  async #copyAll(): Promise<ReadonlyMap<string, IndexEntry>> {
    const copied = new Map<string, IndexEntry>()
    const wanted = this.#copies
    this.#copies = []
    this.#copyBytes = 0
    if (wanted.length === 0) return copied
    this.#lastSign = this.#taking.clock.elapsed()
    const writes: Promise<void>[] = []
    let next = 0
    const ids = wanted.map(({ id }) => id)
    for await (const blob of blobsIn(this.#taking.source.blobs(this.#backup, ids))) {
      const asked = wanted[next++]
      if (asked === undefined || !asked.id.equals(blob.id) || asked.length !== blob.length) {
        throw new Error('the server sent another blob than it was asked for')
      }
      await this.#copy(blob, copied, writes)
    }
    if (next !== wanted.length) throw new Error('the server sent fewer blobs than it was asked for')
    await Promise.all(writes)
    return copied
  }

  async #copy(blob: IncomingBlob, copied: Map<string, IndexEntry>, writes: Promise<void>[]): Promise<void> {
    const { id, length, frameBytes } = blob
    const hash = createHash('sha256')
    const write = async (body: AsyncIterable<Buffer> | Buffer[]): Promise<void> => {
      const place = await this.#taking.vault.blobs.write(id, body, frameBytes)
      copied.set(id.toString('hex'), { ...place, sha256: hash.digest() })
      this.totals.copied++
      this.totals.copiedBytes += length
    }
    try {
      const arriving = hashed(blob.bytes, hash)
      if (length > WHOLE_BYTES_MAX) {
        await write(arriving)
        return
      }
      const whole: Buffer[] = []
      for await (const chunk of arriving) whole.push(Buffer.from(chunk))
      const writing = write(whole)
      // Awaited with the others, after the last one has arrived.
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

/** The newest one that can be gone on from: a run whose index is damaged says nothing about what is there. */
export async function lastWhole(vault: Vault): Promise<Manifest | undefined> {
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

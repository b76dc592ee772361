/**
 * Where backups are kept: a folder with the bytes of all runs together and, for each run, its records, its index and a
 * manifest. The manifest is written last and in one go: a run without one is none. Layout: docs/formats/backup.md.
 */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { Blobs } from '../blobs/blobs.ts'
import type { Disk, DiskFile } from '../lib/disk.ts'
import { EntryRow, entriesIn, type KeyAndValue, type Title } from './entries.ts'
import { type Manifest, readManifest, writtenManifest } from './manifest.ts'

const CHUNK_BYTES = 2 ** 19
const MANIFEST_BYTES_MAX = 64 * 2 ** 20
const LEASE_FILE = 'lease'
const LEASE_BYTES_MAX = 1000
const RUN_FILE = /^(\d{6}-\d{8}T\d{6}Z)\.(records|index|manifest|keyring)(\.new)?$/

export type RunFile = 'records' | 'index' | 'manifest' | 'keyring'

export interface FileFacts {
  readonly bytes: number
  readonly sha256: string
}

/** What is kept there is not what was put there. */
export class DamagedBackup extends Error {
  constructor(what: string) {
    super(what)
    this.name = 'DamagedBackup'
  }
}

export class Vault {
  readonly disk: Disk
  readonly blobs: Blobs
  readonly #runs: string
  readonly #lease: string

  constructor(disk: Disk, folder: string, blobs: Blobs) {
    this.disk = disk
    this.blobs = blobs
    this.#runs = join(folder, 'runs')
    this.#lease = join(folder, LEASE_FILE)
  }

  async open(): Promise<void> {
    await this.disk.makeFolder(this.#runs)
  }

  path(run: string, file: RunFile): string {
    return join(this.#runs, `${run}.${file}`)
  }

  /** The lease of a run that broke off here. Whoever had it is gone: only one at a time works in this folder. */
  async leaseLeft(): Promise<string | undefined> {
    if (!(await this.disk.list(dirname(this.#lease))).includes(LEASE_FILE)) return undefined
    return (await this.#whole(this.#lease, LEASE_BYTES_MAX)).toString('latin1')
  }

  async noteLease(backup: string): Promise<void> {
    await this.forgetLease()
    await this.write(this.#lease, Buffer.from(backup, 'latin1'))
  }

  forgetLease(): Promise<void> {
    return this.disk.remove(this.#lease)
  }

  async #whole(path: string, bytesMax: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of this.#bytesAt(path)) {
      pieces.push(piece)
      bytes += piece.length
      if (bytes > bytesMax) break
    }
    return Buffer.concat(pieces)
  }

  /** Names of whole runs, the oldest first. */
  async runs(): Promise<string[]> {
    const names = (await this.disk.list(this.#runs)).map(name => RUN_FILE.exec(name))
    return names
      .filter(match => match?.[2] === 'manifest' && match[3] === undefined)
      .map(match => match![1]!)
      .sort()
  }

  /** Takes away what runs left behind that were broken off. */
  async clear(): Promise<void> {
    const whole = new Set(await this.runs())
    for (const name of await this.disk.list(this.#runs)) {
      const match = RUN_FILE.exec(name)
      if (match !== null && (match[3] !== undefined || !whole.has(match[1]!))) {
        await this.disk.remove(join(this.#runs, name))
      }
    }
  }

  /** Behind all others, whatever the clock says. */
  async nextName(now: number): Promise<string> {
    const last = (await this.runs()).at(-1)
    const number = last === undefined ? 1 : Number(last.slice(0, 6)) + 1
    return `${String(number).padStart(6, '0')}-${new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '')}`
  }

  async manifest(run: string): Promise<Manifest> {
    const manifest = readManifest(await this.#whole(this.path(run, 'manifest'), MANIFEST_BYTES_MAX))
    if (manifest?.run !== run) throw new DamagedBackup(`the manifest of ${run} does not match its checksum`)
    return manifest
  }

  /** From here on the run is whole. */
  async finish(manifest: Manifest): Promise<void> {
    const path = this.path(manifest.run, 'manifest')
    await this.write(`${path}.new`, writtenManifest(manifest))
    await this.disk.rename(`${path}.new`, path)
    await this.disk.syncFolder(this.#runs)
  }

  /** First its manifest: a run that is on its way out is none. */
  async remove(run: string): Promise<void> {
    await this.disk.remove(this.path(run, 'manifest'))
    await this.disk.syncFolder(this.#runs)
    for (const file of ['records', 'index', 'keyring'] as const) await this.disk.remove(this.path(run, file))
  }

  async write(path: string, bytes: Buffer): Promise<void> {
    const file = await this.disk.open(path, 'create')
    try {
      await file.write([bytes], 0)
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  bytesOf(run: string, name: RunFile): AsyncGenerator<Buffer> {
    return this.#bytesAt(this.path(run, name))
  }

  async *#bytesAt(path: string): AsyncGenerator<Buffer> {
    const file = await this.disk.open(path, 'read').catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOENT' ? new DamagedBackup(`${path} is missing`) : error
    })
    try {
      for (let at = 0; ; ) {
        const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
        const got = await file.read([chunk], at)
        if (got > 0) yield chunk.subarray(0, got)
        if (got < chunk.length) return
        at += got
      }
    } finally {
      await file.close()
    }
  }

  /** The entries of a file; the end is reached only if all of the file is what was written. */
  async *entries(run: string, name: 'records' | 'index', sha256: string): AsyncGenerator<readonly KeyAndValue[]> {
    const hash = createHash('sha256')
    const hashed = async function* (bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of bytes) {
        hash.update(chunk)
        yield chunk
      }
    }
    yield* entriesIn(hashed(this.bytesOf(run, name)), TITLES[name])
    if (hash.digest('hex') !== sha256) throw new DamagedBackup(`${run}.${name} is not what was written`)
  }

  async create(run: string, name: 'records' | 'index'): Promise<RunWriter> {
    return new RunWriter(await this.disk.open(this.path(run, name), 'create'), TITLES[name])
  }
}

const TITLES: Readonly<Record<'records' | 'index', Title>> = {
  records: 'holdfast records 1',
  index: 'holdfast index 1',
}

/** Writes one of a run's files from its beginning to its end. */
export class RunWriter {
  readonly #file: DiskFile
  readonly #row = new EntryRow()
  readonly #hash = createHash('sha256')
  readonly #title: Title
  #end = 0

  constructor(file: DiskFile, title: Title) {
    this.#file = file
    this.#title = title
  }

  async add(key: Buffer, value: Buffer): Promise<void> {
    const piece = this.#row.add(key, value)
    if (piece !== undefined) await this.#write(piece)
  }

  async #write(piece: Buffer): Promise<void> {
    const pieces = this.#end === 0 ? [EntryRow.title(this.#title), piece] : [piece]
    for (const one of pieces) this.#hash.update(one)
    await this.#file.write(pieces, this.#end)
    this.#end += pieces.reduce((sum, { length }) => sum + length, 0)
  }

  async finish(): Promise<FileFacts & { readonly count: number }> {
    await this.#write(this.#row.end())
    await this.#file.datasync()
    await this.#file.close()
    return { bytes: this.#end, sha256: this.#hash.digest('hex'), count: this.#row.count }
  }

  async abandon(): Promise<void> {
    await this.#file.close().catch(() => {})
  }
}

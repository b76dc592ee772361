/**
 * The folder that stores backups: the blobs of all runs together and, for each run, its records, its index and a
 * manifest. The manifest is written last and atomically: a run without one is incomplete. Layout:
 * docs/formats/backup.md.
 */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { Blobs } from '../blobs/blobs.ts'
import type { Disk, DiskFile } from '../lib/disk.ts'
import { EntryStreamWriter, entriesIn, type KeyAndValue, type StreamTitle } from './entries.ts'
import { encodeManifest, type Manifest, readManifest } from './manifest.ts'

const CHUNK_BYTES = 2 ** 19
const MANIFEST_BYTES_MAX = 64 * 2 ** 20
const LEASE_FILE = 'lease'
const LEASE_BYTES_MAX = 1000
const RUN_FILE = /^(\d{6}-\d{8}T\d{6}Z)\.(records|index|manifest|keyring)(\.new)?$/

type RunFile = 'records' | 'index' | 'manifest' | 'keyring'

interface FileDigest {
  readonly bytes: number
  readonly sha256: string
}

/** Names of complete runs, oldest first, by the files of all runs. */
export function completeRuns(files: readonly string[]): string[] {
  const names = files.map(name => RUN_FILE.exec(name))
  return names
    .filter(match => match?.[2] === 'manifest' && match[3] === undefined)
    .map(match => match![1]!)
    .sort()
}

/** When a run was begun by the clock of its writer. */
export const timeOfRun = (run: string): string =>
  run.replace(/^\d+-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')

/** The stored backup differs from the one written. */
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

  /** The lease of an interrupted run. Its process is gone, since only one works in this folder at a time. */
  async staleLease(): Promise<string | undefined> {
    if (!(await this.disk.list(dirname(this.#lease))).includes(LEASE_FILE)) return undefined
    return (await this.#readAll(this.#lease, LEASE_BYTES_MAX)).toString('latin1')
  }

  async saveLease(backup: string): Promise<void> {
    await this.removeLease()
    await this.write(this.#lease, Buffer.from(backup, 'latin1'))
  }

  removeLease(): Promise<void> {
    return this.disk.remove(this.#lease)
  }

  async #readAll(path: string, bytesMax: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of this.#bytesAt(path)) {
      pieces.push(piece)
      bytes += piece.length
      if (bytes > bytesMax) break
    }
    return Buffer.concat(pieces)
  }

  /** Names of complete runs, oldest first. */
  async runs(): Promise<string[]> {
    return completeRuns(await this.disk.list(this.#runs))
  }

  /** Removes files of interrupted runs. */
  async clear(): Promise<void> {
    const complete = new Set(await this.runs())
    for (const name of await this.disk.list(this.#runs)) {
      const match = RUN_FILE.exec(name)
      if (match !== null && (match[3] !== undefined || !complete.has(match[1]!))) {
        await this.disk.remove(join(this.#runs, name))
      }
    }
  }

  /** Sorts after all existing runs, whatever the clock says. */
  async nextName(now: number): Promise<string> {
    const last = (await this.runs()).at(-1)
    const number = last === undefined ? 1 : Number(last.slice(0, 6)) + 1
    return `${String(number).padStart(6, '0')}-${new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '')}`
  }

  async manifest(run: string): Promise<Manifest> {
    const manifest = readManifest(await this.#readAll(this.path(run, 'manifest'), MANIFEST_BYTES_MAX))
    if (manifest?.run !== run) throw new DamagedBackup(`the manifest of ${run} does not match its checksum`)
    return manifest
  }

  /** Completes the run. */
  async finish(manifest: Manifest): Promise<void> {
    const path = this.path(manifest.run, 'manifest')
    await this.write(`${path}.new`, encodeManifest(manifest))
    await this.disk.rename(`${path}.new`, path)
    await this.disk.syncFolder(this.#runs)
  }

  /** The manifest goes first, so that a partly removed run is not complete. */
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

  /** The entries of a file; throws at the end unless the whole file matches its digest. */
  async *entries(run: string, name: 'records' | 'index', sha256: string): AsyncGenerator<readonly KeyAndValue[]> {
    const hash = createHash('sha256')
    const hashed = async function* (bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of bytes) {
        hash.update(chunk)
        yield chunk
      }
    }
    yield* entriesIn(hashed(this.bytesOf(run, name)), TITLES[name])
    if (hash.digest('hex') !== sha256) throw new DamagedBackup(`${run}.${name} does not match its checksum`)
  }

  async create(run: string, name: 'records' | 'index'): Promise<RunWriter> {
    return new RunWriter(await this.disk.open(this.path(run, name), 'create'), TITLES[name])
  }
}

const TITLES: Readonly<Record<'records' | 'index', StreamTitle>> = {
  records: 'holdfast records 1',
  index: 'holdfast index 1',
}

/** Writes one file of a run. */
export class RunWriter {
  readonly #file: DiskFile
  readonly #entries = new EntryStreamWriter()
  readonly #hash = createHash('sha256')
  readonly #title: StreamTitle
  #end = 0

  constructor(file: DiskFile, title: StreamTitle) {
    this.#file = file
    this.#title = title
  }

  async add(key: Buffer, value: Buffer): Promise<void> {
    const piece = this.#entries.add(key, value)
    if (piece !== undefined) await this.#write(piece)
  }

  async #write(piece: Buffer): Promise<void> {
    const pieces = this.#end === 0 ? [EntryStreamWriter.title(this.#title), piece] : [piece]
    for (const bytes of pieces) this.#hash.update(bytes)
    await this.#file.write(pieces, this.#end)
    this.#end += pieces.reduce((sum, { length }) => sum + length, 0)
  }

  async finish(): Promise<FileDigest & { readonly count: number }> {
    await this.#write(this.#entries.end())
    await this.#file.datasync()
    await this.#file.close()
    return { bytes: this.#end, sha256: this.#hash.digest('hex'), count: this.#entries.count }
  }

  async abandon(): Promise<void> {
    await this.#file.close().catch(() => {})
  }
}

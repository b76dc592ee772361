/**
 * An in-memory disk, for servers that store nothing durably and for tests of disk failures.
 * With `crashable` it tracks what was never synced: `powerCut` returns a disk as it may look after a power failure.
 * Written bytes are durable after `datasync` of their file, names after `syncFolder` of their folder, and neither
 * implies the other. Otherwise no history is kept.
 */
import { basename, dirname, normalize } from 'node:path'
import type { Disk, DiskFile } from './disk.ts'
import type { Random } from './random.ts'
import { SparseBytes } from './sparse-bytes.ts'

/** 'EIO' and 'ENOSPC' fail before any effect; 'short' writes half of the bytes first, as a full disk does. */
export type DiskFault = 'EIO' | 'ENOSPC' | 'short'

/** How a call fails. */
export interface DiskFailure {
  readonly error: Error
  /** The write stores half of its bytes first. */
  readonly short: boolean
}

const SECTOR_BYTES = 512

interface UnsyncedWrite {
  readonly position: number
  readonly bytes: Buffer
}

class Inode {
  readonly content = new SparseBytes()
  /** Bytes on stable storage; only tracked when the disk is crashable. */
  readonly durable = new SparseBytes()
  unsynced: UnsyncedWrite[] = []
  /** Writes covered by a failed sync: no later sync makes them durable. */
  doubtful: UnsyncedWrite[] = []
}

/** Names that change together: a rename within a folder is atomic. */
interface NameChange {
  readonly folder: string
  readonly name: string
  readonly inode: Inode | undefined
}

type Names = Map<string, Inode>

export class MemoryDisk implements Disk {
  /** The result of `free`. */
  freeBytes = 2 ** 50
  /** Every datasync and syncFolder fails while this is set. */
  failSyncs = false
  /** Number of I/O calls so far, and of file syncs among them. */
  calls = 0
  datasyncs = 0
  openFiles = 0
  /** Awaited during every read, write and sync of a file, so that a test can make them overlap. */
  pause: ((what: string) => Promise<void>) | undefined
  readonly #crashable: boolean
  readonly #folders = new Map<string, Names>([
    ['/', new Map()],
    ['.', new Map()],
  ])
  /** Durable names by folder, and the changes that are not durable, oldest first. */
  readonly #durableNames = new Map<string, Names>()
  #unsyncedNames: NameChange[][] = []
  #failAtCall = 0
  #fault: DiskFault = 'EIO'

  constructor({ crashable = false }: { readonly crashable?: boolean } = {}) {
    this.#crashable = crashable
  }

  /** Makes the n-th I/O call from now fail (1 is the next one, 0 is none). */
  failAt(n: number, fault: DiskFault = 'EIO'): void {
    this.#failAtCall = n === 0 ? 0 : this.calls + n
    this.#fault = fault
  }

  async open(path: string, how: 'create' | 'read'): Promise<DiskFile> {
    this.#begin('open')
    const folder = dirname(normalize(path))
    const name = basename(path)
    const names = this.#namesOf(folder, path)
    let inode = names.get(name)
    if (how === 'create') {
      if (inode !== undefined) throw fail('EEXIST', `open ${path}`)
      inode = new Inode()
      this.#change([{ folder, name, inode }])
    }
    if (inode === undefined) throw fail('ENOENT', `open ${path}`)
    this.openFiles++
    return new MemoryFile(this, inode, { writable: how === 'create', crashable: this.#crashable })
  }

  async makeFolder(path: string): Promise<void> {
    this.#begin('makeFolder')
    for (let folder = normalize(path); !this.#folders.has(folder); folder = dirname(folder)) {
      this.#folders.set(folder, new Map())
    }
  }

  async syncFolder(path: string): Promise<void> {
    this.#begin('syncFolder')
    const folder = normalize(path)
    this.#namesOf(folder, path)
    const left: NameChange[][] = []
    for (const changes of this.#unsyncedNames) {
      for (const change of changes) if (change.folder === folder) this.#apply(this.#durableNames, change)
      const others = changes.filter(change => change.folder !== folder)
      if (others.length > 0) left.push(others)
    }
    this.#unsyncedNames = left
  }

  async list(path: string): Promise<string[]> {
    this.#begin('list')
    const folder = normalize(path)
    const names = [...(this.#folders.get(folder)?.keys() ?? [])]
    for (const other of this.#folders.keys()) {
      if (other !== folder && dirname(other) === folder) names.push(basename(other))
    }
    return names
  }

  async rename(from: string, to: string): Promise<void> {
    this.#begin('rename')
    const old = { folder: dirname(normalize(from)), name: basename(from) }
    const inode = this.#namesOf(old.folder, from).get(old.name)
    if (inode === undefined) throw fail('ENOENT', `rename ${from}`)
    const folder = dirname(normalize(to))
    this.#namesOf(folder, to)
    this.#change([
      { ...old, inode: undefined },
      { folder, name: basename(to), inode },
    ])
  }

  async remove(path: string): Promise<void> {
    this.#begin('remove')
    const folder = dirname(normalize(path))
    const name = basename(path)
    if (this.#folders.get(folder)?.has(name) === true) this.#change([{ folder, name, inode: undefined }])
  }

  async free(_path: string): Promise<number> {
    this.#begin('free')
    return this.freeBytes
  }

  /** The disk after a power failure at this point. Unsynced data is present, missing or partial. */
  powerCut(random: Random): MemoryDisk {
    if (!this.#crashable) throw new Error('this disk keeps no history: construct it as crashable')
    const names = new Map<string, Names>()
    for (const [folder, durable] of this.#durableNames) names.set(folder, new Map(durable))
    for (const changes of this.#unsyncedNames) {
      if (random.fraction() < 0.5) for (const change of changes) this.#apply(names, change)
    }
    const after = new MemoryDisk({ crashable: true })
    const survivors = new Map<Inode, Inode>()
    // Creating a folder is durable by contract, so all folders exist.
    for (const folder of this.#folders.keys()) {
      const present: Names = new Map()
      for (const [name, inode] of names.get(folder) ?? []) {
        const survivor = survivors.get(inode) ?? survive(inode, random)
        survivors.set(inode, survivor)
        present.set(name, survivor)
      }
      after.#folders.set(folder, present)
      after.#durableNames.set(folder, new Map(present))
    }
    return after
  }

  /** Counts every I/O call, including those of files, before it has any effect; returns how it must fail. */
  count(what: string): DiskFailure | undefined {
    this.calls++
    if (what === 'datasync') this.datasyncs++
    if (this.failSyncs && (what === 'datasync' || what === 'syncFolder')) return failure('EIO', what)
    if (this.calls !== this.#failAtCall) return undefined
    if (this.#fault === 'short') return { ...failure('ENOSPC', what), short: true }
    return failure(this.#fault, what)
  }

  #begin(what: string): void {
    const failing = this.count(what)
    if (failing !== undefined) throw failing.error
  }

  #namesOf(folder: string, path: string): Names {
    const names = this.#folders.get(folder)
    if (names === undefined) throw fail('ENOENT', path)
    return names
  }

  #change(changes: NameChange[]): void {
    for (const change of changes) this.#apply(this.#folders, change)
    if (!this.#crashable) return
    const oneFolder = changes.every(change => change.folder === changes[0]!.folder)
    if (oneFolder) this.#unsyncedNames.push(changes)
    else for (const change of changes) this.#unsyncedNames.push([change])
  }

  #apply(folders: Map<string, Names>, { folder, name, inode }: NameChange): void {
    const names = folders.get(folder) ?? new Map<string, Inode>()
    folders.set(folder, names)
    if (inode === undefined) names.delete(name)
    else names.set(name, inode)
  }
}

class MemoryFile implements DiskFile {
  readonly #disk: MemoryDisk
  readonly #inode: Inode
  readonly #writable: boolean
  readonly #crashable: boolean
  #closed = false

  constructor(disk: MemoryDisk, inode: Inode, how: { readonly writable: boolean; readonly crashable: boolean }) {
    this.#disk = disk
    this.#inode = inode
    this.#writable = how.writable
    this.#crashable = how.crashable
  }

  async write(pieces: readonly Uint8Array[], position: number): Promise<void> {
    const failing = this.#count('write')
    if (!this.#writable) throw fail('EBADF', 'write')
    await this.#pause('write')
    if (failing?.short === false) throw failing.error
    let left = pieces.reduce((sum, piece) => sum + piece.length, 0)
    if (failing !== undefined) left = Math.floor(left / 2)
    // A crash treats it as one write, since the kernel received it in one call.
    const whole = this.#crashable ? Buffer.concat(pieces, left) : undefined
    if (whole !== undefined) this.#inode.unsynced.push({ position, bytes: whole })
    let at = position
    for (const piece of whole === undefined ? pieces : [whole]) {
      const taken = piece.subarray(0, left)
      this.#inode.content.write(taken, at)
      at += taken.length
      left -= taken.length
    }
    if (failing !== undefined) throw failing.error
  }

  async read(into: readonly Uint8Array[], position: number): Promise<number> {
    const failing = this.#count('read')
    await this.#pause('read')
    if (failing !== undefined) throw failing.error
    let got = 0
    for (const piece of into) got += this.#inode.content.read(piece, position + got)
    return got
  }

  async datasync(): Promise<void> {
    const failing = this.#count('datasync')
    // Covers only writes before the call. They are in doubt until it succeeds, and for good if it fails.
    const covered = this.#inode.unsynced
    this.#inode.unsynced = []
    this.#inode.doubtful.push(...covered)
    await this.#pause('datasync')
    if (failing !== undefined) throw failing.error
    const settled = new Set(covered)
    this.#inode.doubtful = this.#inode.doubtful.filter(write => !settled.has(write))
    for (const { position, bytes } of covered) this.#inode.durable.write(bytes, position)
  }

  async size(): Promise<number> {
    const failing = this.#count('size')
    if (failing !== undefined) throw failing.error
    return this.#inode.content.size
  }

  async close(): Promise<void> {
    if (!this.#closed) this.#disk.openFiles--
    this.#closed = true
    const failing = this.#disk.count('close')
    if (failing !== undefined) throw failing.error
  }

  /** A file closed during a call makes the call fail. */
  async #pause(what: string): Promise<void> {
    if (this.#disk.pause === undefined) return
    await this.#disk.pause(what)
    if (this.#closed) throw fail('EBADF', what)
  }

  #count(what: string): DiskFailure | undefined {
    if (this.#closed) throw fail('EBADF', what)
    return this.#disk.count(what)
  }
}

/** Each unsynced write is kept, dropped, or torn at sector boundaries. */
function survive(inode: Inode, random: Random): Inode {
  const survivor = new Inode()
  inode.durable.copyTo(survivor.content)
  for (const { position, bytes } of [...inode.doubtful, ...inode.unsynced]) {
    const outcome = random.fraction()
    if (outcome < 1 / 3) continue
    const torn = outcome > 2 / 3
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(bytes.length, at + SECTOR_BYTES - ((position + at) % SECTOR_BYTES))
      if (!torn || random.fraction() < 0.5) survivor.content.write(bytes.subarray(at, end), position + at)
      at = end
    }
  }
  survivor.content.copyTo(survivor.durable)
  return survivor
}

function failure(code: string, what: string): DiskFailure {
  return { error: fail(code, what), short: false }
}

function fail(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code })
}

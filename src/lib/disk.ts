/**
 * The only access to the filesystem. All code that stores bytes is given a Disk, so that a test can fail the n-th call,
 * shorten a write or drop unsynced data. LMDB is the exception: it does its own I/O.
 */
import { constants, promises as fs, readvSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { systemClock } from './clock.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { PageCacheReads } from './page-cache-reads.ts'

export interface ReadableFile {
  /** Fills the pieces in sequence; resolves to the number of bytes read, smaller only at the end of the file. */
  read(into: readonly Uint8Array[], position: number): Promise<number>
  /** Like `read`, but synchronous where the bytes are probably in the page cache. Not every disk has it. */
  readCached?(into: readonly Uint8Array[], position: number): MaybePromise<number>
  /** How many reads a sequential reader keeps in flight where each takes a round trip; one by default. */
  readonly readsAhead?: number
  size(): Promise<number>
}

export interface DiskFile extends ReadableFile {
  /** Writes all pieces in sequence at `position`. Rejects unless every byte was written. */
  write(pieces: readonly Uint8Array[], position: number): Promise<void>
  /** Resolves when every byte written before the call is on stable storage. A failure is final: do not retry. */
  datasync(): Promise<void>
  close(): Promise<void>
}

export interface Disk {
  /** `create` creates a new file for reading and writing; `read` opens an existing one. */
  open(path: string, how: 'create' | 'read'): Promise<DiskFile>
  /** Creates the folder and its missing parents, durably. */
  makeFolder(path: string): Promise<void>
  /** Makes the directory entries of this folder durable. */
  syncFolder(path: string): Promise<void>
  /** Names in the folder; empty when it does not exist. */
  list(path: string): Promise<string[]>
  /** Names of all files below the folder. Present where listing one folder costs as much as listing all. */
  walk?(path: string): AsyncIterable<string>
  rename(from: string, to: string): Promise<void>
  /** Removes a file; no error when it is missing. */
  remove(path: string): Promise<void>
  /** Like `remove`, for a file that nothing will read again: a crash may leave a part of it. Not every disk has it. */
  discard?(path: string): Promise<void>
  /** Free bytes for this user on the filesystem of `path`. */
  free(path: string): Promise<number>
  /** True when writes must be rejected as if the disk were full. */
  isFull?(): boolean
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException)?.code === 'ENOENT'

/** Readable by the process's user only, like every file created through a Disk. */
const MODE = 0o600

/**
 * Makes sure that a file written by other code exists and is private. An existing file is not opened, since closing it
 * would release the locks this process holds on it.
 */
export async function ensurePrivateFile(path: string): Promise<void> {
  try {
    const { mode } = await fs.stat(path)
    if ((mode & 0o077) !== 0) await fs.chmod(path, MODE)
  } catch (error) {
    // The file belongs to another user, who decides its mode.
    if ((error as NodeJS.ErrnoException).code === 'EPERM') return
    if (!isMissing(error)) throw error
    await realDisk.open(path, 'create').then(file => file.close(), ignoreExisting)
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

/** The rest of the pieces after this many bytes. */
function remaining(pieces: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let skipped = bytes
  const index = pieces.findIndex(piece => {
    if (piece.length > skipped) return true
    skipped -= piece.length
    return false
  })
  return index < 0 ? [] : [pieces[index]!.subarray(skipped), ...pieces.slice(index + 1)]
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  let length = 0
  for (const piece of pieces) length += piece.length
  return length
}

const cachedReads = new PageCacheReads(systemClock, () => process.resourceUsage().fsRead)

class RealFile implements DiskFile {
  readonly #handle: fs.FileHandle

  constructor(handle: fs.FileHandle) {
    this.#handle = handle
  }

  async write(pieces: readonly Uint8Array[], position: number): Promise<void> {
    const expected = lengthOf(pieces)
    const { bytesWritten } = await this.#handle.writev(pieces as Uint8Array[], position)
    // libuv returns a short count when the disk fills up during a write.
    if (bytesWritten !== expected) {
      throw Object.assign(new Error(`short write: ${bytesWritten} of ${expected} bytes`), { code: 'ENOSPC' })
    }
  }

  read(into: readonly Uint8Array[], position: number): Promise<number> {
    return this.#readRest(into, position, 0)
  }

  readCached(into: readonly Uint8Array[], position: number): MaybePromise<number> {
    const bytes = lengthOf(into)
    if (!cachedReads.isLikely(bytes)) return this.read(into, position)
    const got = cachedReads.measure(() => readvSync(this.#handle.fd, into as Uint8Array[], position))
    return got === bytes || got === 0 ? got : this.#readRest(into, position, got)
  }

  async #readRest(into: readonly Uint8Array[], position: number, start: number): Promise<number> {
    let got = start
    for (let left = remaining(into, got); left.length > 0; left = remaining(into, got)) {
      const [only] = left
      const { bytesRead } =
        left.length === 1
          ? await this.#handle.read(only!, 0, only!.length, position + got)
          : await this.#handle.readv(left, position + got)
      if (bytesRead === 0) break
      got += bytesRead
    }
    return got
  }

  datasync(): Promise<void> {
    return this.#handle.datasync()
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

/** Creates one folder; false when it existed. */
async function makeOne(path: string): Promise<boolean> {
  try {
    await fs.mkdir(path, { mode: 0o700 })
    return true
  } catch (error) {
    if (codeOf(error) !== 'EEXIST' || !(await fs.stat(path)).isDirectory()) throw error
    return false
  }
}

/**
 * Creates a folder and its parents and returns the topmost new one. Node's recursive mkdir never ends where a folder
 * cannot be created inside an existing one, as below /proc.
 */
async function makeParents(path: string): Promise<string | undefined> {
  try {
    return (await makeOne(path)) ? path : undefined
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error
  }
  const above = await makeParents(dirname(path))
  const isNew = await makeOne(path)
  return above ?? (isNew ? path : undefined)
}

/** Freeing this much holds up the syncs of other files for about ten milliseconds. */
const STEP_BYTES = 8 * 2 ** 20

/** A file with a further name is part of a snapshot: its bytes stay, and only this name goes. */
async function shorten(path: string): Promise<void> {
  const { size } = await fs.lstat(path)
  if (size <= STEP_BYTES) return
  const handle = await fs.open(path, 'r+')
  try {
    // To whole steps: within a block that a snapshot shares, the rest would be copied, which a full disk refuses.
    for (let left = STEP_BYTES * Math.floor((size - 1) / STEP_BYTES); left > 0; left -= STEP_BYTES) {
      // A snapshot may be taken at any time.
      if ((await handle.stat()).nlink > 1) return
      await handle.truncate(left)
    }
  } finally {
    await handle.close()
  }
}

export const realDisk: Disk = {
  async open(path, how) {
    const flags = how === 'create' ? constants.O_RDWR | constants.O_CREAT | constants.O_EXCL : constants.O_RDONLY
    return new RealFile(await fs.open(path, flags, MODE))
  },

  async makeFolder(path) {
    // An existing folder may have been created by a process that died before its entry was durable.
    const whole = resolve(path)
    const first = (await makeParents(whole)) ?? whole
    for (let folder = whole; folder.length >= first.length; folder = dirname(folder)) {
      await realDisk.syncFolder(dirname(folder))
    }
  },

  async syncFolder(path) {
    const handle = await fs.open(path, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  },

  async list(path) {
    try {
      return await fs.readdir(path)
    } catch (error) {
      if (isMissing(error)) return []
      throw error
    }
  },

  rename: (from, to) => fs.rename(from, to),

  async remove(path) {
    try {
      await fs.unlink(path)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  },

  /**
   * A filesystem that frees a large file at once makes every sync wait until it is done: 64 MiB took 45 ms, 1 GiB up to
   * 250. So the file is shortened step by step first. Where that fails, as on a full disk or for a file of another
   * user, it can still be removed.
   */
  async discard(path) {
    await shorten(path).catch(() => {})
    await realDisk.remove(path)
  },

  async free(path) {
    const { bavail, bsize } = await fs.statfs(path)
    return bavail * bsize
  },
}

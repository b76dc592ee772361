/**
 * The one way to the filesystem. Everything that keeps bytes is handed a Disk, so that a test can fail the N-th
 * call, cut a write short or forget what was never synced. LMDB is the exception: it writes for itself.
 */
import { constants, promises as fs, readvSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { systemClock } from './clock.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { PageCacheReads } from './page-cache-reads.ts'

export interface DiskFile {
  /** Writes all the pieces, one behind the other, at `position`. Rejects unless every byte was taken. */
  write(pieces: readonly Uint8Array[], position: number): Promise<void>
  /** Fills the pieces, one behind the other; resolves to how many bytes there were (fewer only at the file's end). */
  read(into: readonly Uint8Array[], position: number): Promise<number>
  /** The same, on the spot where the bytes are likely to be at hand: there are disks on which they never are. */
  readSoon?(into: readonly Uint8Array[], position: number): MaybePromise<number>
  /** Resolves when every byte written before the call is on stable storage. A failure is final: never call again. */
  datasync(): Promise<void>
  size(): Promise<number>
  close(): Promise<void>
}

export interface Disk {
  /** `create` makes a new file (it must not exist) for reading and writing; `read` opens an existing one. */
  open(path: string, how: 'create' | 'read'): Promise<DiskFile>
  /** Makes the folder and its missing parents, durably. */
  makeFolder(path: string): Promise<void>
  /** Makes the names in this folder durable. */
  syncFolder(path: string): Promise<void>
  /** Names in the folder; empty when there is no such folder. */
  list(path: string): Promise<string[]>
  rename(from: string, to: string): Promise<void>
  /** Removes a file; no error when it is gone already. */
  remove(path: string): Promise<void>
  /** Free bytes for this user on the filesystem that holds `path`. */
  free(path: string): Promise<number>
  /** True when whoever writes now shall find it full, however much is free. */
  isFull?(): boolean
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException)?.code === 'ENOENT'

/** For the owner of the process alone, like every file that a Disk makes. */
const MODE = 0o600

/**
 * A file that somebody writes who does not ask for a mode: there, and nobody else's to read. One that is there is not
 * opened, since closing it would end the locks that this process has on it.
 */
export async function keepPrivate(path: string): Promise<void> {
  try {
    const { mode } = await fs.stat(path)
    if ((mode & 0o077) !== 0) await fs.chmod(path, MODE)
  } catch (error) {
    // Another user's, who lets this one write: then it is that user's to say.
    if ((error as NodeJS.ErrnoException).code === 'EPERM') return
    if (!isMissing(error)) throw error
    await realDisk.open(path, 'create').then(file => file.close(), orThere)
  }
}

function orThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

/** What is left of the pieces behind so many bytes. */
function behind(pieces: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
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

const promptReads = new PageCacheReads(systemClock, () => process.resourceUsage().fsRead)

class RealFile implements DiskFile {
  readonly #handle: fs.FileHandle

  constructor(handle: fs.FileHandle) {
    this.#handle = handle
  }

  async write(pieces: readonly Uint8Array[], position: number): Promise<void> {
    const expected = lengthOf(pieces)
    const { bytesWritten } = await this.#handle.writev(pieces as Uint8Array[], position)
    // libuv returns a short count when the disk fills up in the middle of a write.
    if (bytesWritten !== expected) {
      throw Object.assign(new Error(`short write: ${bytesWritten} of ${expected} bytes`), { code: 'ENOSPC' })
    }
  }

  read(into: readonly Uint8Array[], position: number): Promise<number> {
    return this.#readOn(into, position, 0)
  }

  readSoon(into: readonly Uint8Array[], position: number): MaybePromise<number> {
    const bytes = lengthOf(into)
    if (!promptReads.isLikely(bytes)) return this.read(into, position)
    const got = promptReads.timed(() => readvSync(this.#handle.fd, into as Uint8Array[], position))
    return got === bytes || got === 0 ? got : this.#readOn(into, position, got)
  }

  async #readOn(into: readonly Uint8Array[], position: number, sofar: number): Promise<number> {
    let got = sofar
    for (let left = behind(into, got); left.length > 0; left = behind(into, got)) {
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

/** Makes one folder; false when it was there. */
async function madeOne(path: string): Promise<boolean> {
  try {
    await fs.mkdir(path, { mode: 0o700 })
    return true
  } catch (error) {
    if (codeOf(error) !== 'EEXIST' || !(await fs.stat(path)).isDirectory()) throw error
    return false
  }
}

/**
 * Makes a folder and those above it, and returns the topmost that was not there. Node's own recursive way never ends
 * where a folder cannot be made in one that is there, as below /proc.
 */
async function topmostMade(path: string): Promise<string | undefined> {
  try {
    return (await madeOne(path)) ? path : undefined
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error
  }
  const above = await topmostMade(dirname(path))
  const isNew = await madeOne(path)
  return above ?? (isNew ? path : undefined)
}

export const realDisk: Disk = {
  async open(path, how) {
    const flags = how === 'create' ? constants.O_RDWR | constants.O_CREAT | constants.O_EXCL : constants.O_RDONLY
    return new RealFile(await fs.open(path, flags, MODE))
  },

  async makeFolder(path) {
    // A folder that is there already may have been made by somebody who died before its name was durable.
    const whole = resolve(path)
    const first = (await topmostMade(whole)) ?? whole
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

  async free(path) {
    const { bavail, bsize } = await fs.statfs(path)
    return bavail * bsize
  },
}

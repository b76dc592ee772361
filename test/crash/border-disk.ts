/** A disk that pauses before every call, so that the world can be inspected. */
import type { Disk, DiskFile } from '../../src/lib/disk.ts'

class BorderFile implements DiskFile {
  readonly #file: DiskFile
  readonly #border: () => Promise<void>

  constructor(file: DiskFile, border: () => Promise<void>) {
    this.#file = file
    this.#border = border
  }

  async write(pieces: readonly Uint8Array[], position: number): Promise<void> {
    await this.#border()
    await this.#file.write(pieces, position)
  }

  read(into: readonly Uint8Array[], position: number): Promise<number> {
    return this.#file.read(into, position)
  }

  async datasync(): Promise<void> {
    await this.#border()
    await this.#file.datasync()
  }

  size(): Promise<number> {
    return this.#file.size()
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

/** Calls that change nothing do not pause: the world is the same before and after them. */
export function borderDisk(disk: Disk, border: () => Promise<void>): Disk {
  return {
    async open(path, how) {
      if (how === 'create') await border()
      return new BorderFile(await disk.open(path, how), border)
    },
    makeFolder: path => disk.makeFolder(path),
    async syncFolder(path) {
      await border()
      await disk.syncFolder(path)
    },
    list: path => disk.list(path),
    async rename(from, to) {
      await border()
      await disk.rename(from, to)
    },
    async remove(path) {
      await border()
      await disk.remove(path)
    },
    free: path => disk.free(path),
  }
}

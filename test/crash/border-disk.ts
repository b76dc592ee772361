/** A disk that stops before every call and lets somebody look at the world. */
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

/** Calls that change nothing pass without a stop: the world before them is the world after them. */
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

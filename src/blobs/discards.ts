import type { Disk } from '../lib/disk.ts'

/**
 * Removes files one at a time: each removal holds a thread of the few that the runtime has for all files. Blobs
 * elsewhere have their own, since a network disk may not answer for hours.
 */
export class Discards {
  readonly #disk: Disk
  #last: Promise<void> = Promise.resolve()

  constructor(disk: Disk) {
    this.#disk = disk
  }

  remove(path: string): Promise<void> {
    const disk = this.#disk
    if (disk.discard === undefined) return disk.remove(path)
    const removal = this.#last.then(() => disk.discard!(path))
    this.#last = removal.catch(() => {})
    return removal
  }
}

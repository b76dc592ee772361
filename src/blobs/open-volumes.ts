import { join } from 'node:path'
import type { Disk, DiskFile } from '../lib/disk.ts'
import { parseVolumeName } from './frames.ts'

/** A volume open for reading, shared by all its readers. */
export interface OpenVolume {
  readonly name: string
  readonly opening: Promise<DiskFile>
  /** Set once it is open. */
  file: DiskFile | undefined
  readers: number
  /** Evicted from the cache: the last reader closes it. */
  dropped: boolean
  usedSinceSweep: boolean
}

const OPEN_VOLUMES_MAX = 64
/**
 * After this many reads, volumes unused since the last sweep are closed: an open file keeps the space of a volume that
 * another process has removed.
 */
const READS_BETWEEN_SWEEPS = 1024

/** An LRU cache of volumes open for reading. */
export class OpenVolumes {
  readonly #disk: Disk
  readonly #folder: string
  readonly #open = new Map<string, OpenVolume>()
  #reads = 0

  constructor(disk: Disk, folder: string) {
    this.#disk = disk
    this.#folder = folder
  }

  /** Every acquired volume must be released once. */
  acquire(name: string): OpenVolume {
    if (++this.#reads % READS_BETWEEN_SWEEPS === 0) this.#sweep()
    let volume = this.#open.get(name)
    if (volume === undefined) {
      volume = this.#openVolume(name)
    } else {
      this.#open.delete(name)
      this.#open.set(name, volume)
    }
    volume.readers++
    volume.usedSinceSweep = true
    return volume
  }

  release(volume: OpenVolume): void {
    volume.readers--
    if (volume.dropped && volume.readers === 0) close(volume)
  }

  forget(name: string): void {
    const volume = this.#open.get(name)
    if (volume !== undefined) this.#drop(volume)
  }

  forgetIdle(): void {
    for (const volume of this.#open.values()) if (volume.readers === 0) this.#drop(volume)
  }

  forgetAll(): void {
    for (const volume of this.#open.values()) this.#drop(volume)
  }

  #openVolume(name: string): OpenVolume {
    if (parseVolumeName(name) === undefined) throw new Error(`${JSON.stringify(name)} is not a volume`)
    for (const oldest of this.#open.values()) {
      if (this.#open.size < OPEN_VOLUMES_MAX) break
      this.#drop(oldest)
    }
    const opening = this.#disk.open(join(this.#folder, name), 'read')
    const volume: OpenVolume = { name, opening, file: undefined, readers: 0, dropped: false, usedSinceSweep: true }
    this.#open.set(name, volume)
    opening.then(
      file => {
        volume.file = file
      },
      () => this.#drop(volume),
    )
    return volume
  }

  #sweep(): void {
    for (const volume of this.#open.values()) {
      if (volume.usedSinceSweep) volume.usedSinceSweep = false
      else this.#drop(volume)
    }
  }

  #drop(volume: OpenVolume): void {
    if (volume.dropped) return
    volume.dropped = true
    this.#open.delete(volume.name)
    if (volume.readers === 0) close(volume)
  }
}

function close(volume: OpenVolume): void {
  // Nothing was written through it, so closing cannot lose anything.
  volume.opening.then(file => file.close()).catch(() => {})
}

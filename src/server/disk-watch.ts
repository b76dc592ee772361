/** Watches the disks that a store writes to: says when one is full and when there is room again. */
import { RESERVE_BYTES } from '../blobs/file-blobs.ts'
import type { Disk } from '../lib/disk.ts'
import { labelled, type Sample } from '../telemetry/families.ts'
import type { Worker } from '../workers/worker.ts'
import { Ballast } from './ballast.ts'
import type { Config } from './config.ts'
import type { Log } from './log.ts'
import type { MaintenanceTask } from './maintenance-task.ts'

const LOOK_MS = 5_000
/** So much stays free besides the ballast: more than throwing it off gives back, or it would be taken on at once. */
const AMPLE_BYTES = RESERVE_BYTES / 2

interface Watched {
  readonly name: 'data' | 'blobs'
  readonly folder: string
  isFull: boolean
}

const fullLine = ({ folder }: Watched, free: number): string =>
  `The disk of ${folder} is full: ${free} bytes are free, and ${RESERVE_BYTES} are kept for deletes. Writes are \
refused (507); reads and deletes are served. Make room.`

export class DiskWatch implements Worker {
  readonly #disk: Disk
  readonly #watched: readonly Watched[]
  readonly #ballast: Ballast
  readonly #tell: Log

  constructor(disk: Disk, { data, blobs, memory }: Pick<Config, 'data' | 'blobs' | 'memory'>, tell: Log) {
    this.#disk = disk
    this.#ballast = new Ballast(disk, data)
    this.#tell = tell
    const watched: Watched[] = memory ? [] : [{ name: 'data', folder: data, isFull: false }]
    if (blobs !== undefined) watched.push({ name: 'blobs', folder: blobs, isFull: false })
    this.#watched = watched
  }

  get isFull(): boolean {
    return this.#watched.some(({ isFull }) => isFull)
  }

  async step(): Promise<'idle'> {
    for (const watched of this.#watched) {
      const free = await this.#disk.free(watched.folder)
      const isFull = free < RESERVE_BYTES || this.#disk.isFull?.() === true
      if (isFull && !watched.isFull) this.#tell.log({ level: 'error', message: fullLine(watched, free) })
      if (!isFull && watched.isFull) {
        this.#tell.log({ level: 'info', message: `The disk of ${watched.folder} has room again: writes are taken.` })
      }
      watched.isFull = isFull
    }
    if (await this.#ballast.throwOff()) {
      this.#tell.log({ level: 'warn', message: 'The room that was set aside is given up, so that deletes still work.' })
    }
    await this.#ballast.takeOn(AMPLE_BYTES)
    return 'idle'
  }

  /** None for a store that is in memory. */
  chores(): MaintenanceTask[] {
    if (this.#watched.length === 0) return []
    const samples = (): Sample[] =>
      this.#watched.map(({ name, isFull }) => ['holdfast_disk_full', labelled({ folder: name }), isFull ? 1 : 0])
    return [{ name: 'disk', worker: this, pauseMs: LOOK_MS, samples }]
  }
}

/** Watches the disks of a store and reports when one is full and when it has space again. */
import type { Blobs } from '../blobs/blobs.ts'
import { RESERVE_BYTES } from '../blobs/file-blobs.ts'
import type { Disk } from '../lib/disk.ts'
import type { MaintenanceStep } from '../maintenance/maintenance-step.ts'
import { labelled, type Sample } from '../telemetry/families.ts'
import { Ballast } from './ballast.ts'
import { isBlobsAddress, printableBlobsPlace } from './blob-driver.ts'
import type { Config } from './config.ts'
import type { Logger } from './log.ts'
import type { MaintenanceTask } from './maintenance-task.ts'

const CHECK_MS = 5_000
/** Free space required besides the ballast: more than releasing it frees, or it would be allocated again at once. */
const AMPLE_BYTES = RESERVE_BYTES / 2

interface Watched {
  readonly name: 'data' | 'blobs'
  /** The folder, or the printable address of an engine. */
  readonly place: string
  readonly free: () => Promise<number>
  isFull: boolean
}

const fullLine = ({ place }: Watched, free: number): string =>
  `The disk of ${place} is full: ${free} bytes are free, and ${RESERVE_BYTES} are reserved for deletes. Writes are \
refused (507); reads and deletes are served. Free some space.`

export class DiskWatch implements MaintenanceStep {
  readonly #disk: Disk
  readonly #watched: readonly Watched[]
  readonly #ballast: Ballast
  readonly #logger: Logger

  /** An engine of blobs is watched if it reports its space. */
  constructor(
    disk: Disk,
    engine: Pick<Blobs, 'capacity'>,
    { data, blobs, memory }: Pick<Config, 'data' | 'blobs' | 'memory'>,
    logger: Logger,
  ) {
    this.#disk = disk
    this.#ballast = new Ballast(disk, data)
    this.#logger = logger
    const watched: Watched[] = memory ? [] : [{ name: 'data', place: data, free: () => disk.free(data), isFull: false }]
    if (blobs !== undefined && !isBlobsAddress(blobs)) {
      watched.push({ name: 'blobs', place: blobs, free: () => disk.free(blobs), isFull: false })
    }
    if (blobs !== undefined && engine.capacity !== undefined) {
      const free = async (): Promise<number> => (await engine.capacity!()).freeBytes
      watched.push({ name: 'blobs', place: printableBlobsPlace(blobs), free, isFull: false })
    }
    this.#watched = watched
  }

  get isFull(): boolean {
    return this.#watched.some(({ isFull }) => isFull)
  }

  async step(): Promise<'idle'> {
    for (const watched of this.#watched) {
      const free = await watched.free()
      const isFull = free < RESERVE_BYTES || this.#disk.isFull?.() === true
      if (isFull && !watched.isFull) this.#logger.log({ level: 'error', message: fullLine(watched, free) })
      if (!isFull && watched.isFull) {
        this.#logger.log({
          level: 'info',
          message: `The disk of ${watched.place} has space again: writes are accepted.`,
        })
      }
      watched.isFull = isFull
    }
    if (await this.#ballast.release()) {
      this.#logger.log({ level: 'warn', message: 'The ballast file is released, so that deletes still work.' })
    }
    await this.#ballast.allocate(AMPLE_BYTES)
    return 'idle'
  }

  /** Empty for a store in memory. */
  tasks(): MaintenanceTask[] {
    if (this.#watched.length === 0) return []
    const samples = (): Sample[] =>
      this.#watched.map(({ name, isFull }) => ['holdfast_disk_full', labelled({ folder: name }), isFull ? 1 : 0])
    return [{ name: 'disk', worker: this, pauseMs: CHECK_MS, samples }]
  }
}

import type { Disk } from '../lib/disk.ts'
import { DiskFull } from './blobs.ts'

/** The filesystem is asked again after so many bytes or writes: often enough, and no call per small blob. */
const BYTES_BETWEEN_ASKS = 16 * 2 ** 20
const WRITES_BETWEEN_ASKS = 256
/** With this much to spare the answer is not waited for: a writer that waits misses the sync of its batch. */
const AMPLE_BYTES = 16 * BYTES_BETWEEN_ASKS

/**
 * Keeps a reserve free on the filesystem, so that a full disk refuses writes before they begin and still has room for
 * what deleting needs. Other processes write too: the reserve must be larger than all of them write between asks.
 */
export class Space {
  readonly #disk: Disk
  readonly #folder: string
  readonly #reserveBytes: number
  /** What the last answer left above the reserve. */
  #spare = 0
  #bytesLeft = 0
  #writesLeft = 0
  #asking: Promise<void> | undefined

  constructor(disk: Disk, folder: string, reserveBytes: number) {
    this.#disk = disk
    this.#folder = folder
    this.#reserveBytes = reserveBytes
  }

  /** Resolves when so many bytes may be written, else throws DiskFull. Nothing is waited for unless room is short. */
  ensureSpace(bytes: number): Promise<void> | undefined {
    if (this.#disk.isFull?.() === true) throw new DiskFull()
    this.#writesLeft--
    this.#bytesLeft -= bytes
    if (this.#writesLeft >= 0 && this.#bytesLeft >= 0) return undefined
    const asking = this.#ask()
    if (this.#spare < AMPLE_BYTES) return this.#decide(asking, bytes)
    asking.catch(() => {})
    return undefined
  }

  async #decide(asking: Promise<void>, bytes: number): Promise<void> {
    await asking
    if (this.#spare < bytes) throw new DiskFull()
  }

  #ask(): Promise<void> {
    this.#asking ??= this.#refresh().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #refresh(): Promise<void> {
    let free = 0
    try {
      free = await this.#disk.free(this.#folder)
    } finally {
      // Without an answer there is no room to count on, and the next writer waits for one.
      this.#spare = free - this.#reserveBytes
    }
    this.#bytesLeft = Math.min(this.#spare, BYTES_BETWEEN_ASKS)
    // Below the reserve every write asks: the first one after room was made succeeds.
    this.#writesLeft = this.#spare < 0 ? 0 : WRITES_BETWEEN_ASKS
  }
}

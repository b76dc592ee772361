import type { Disk } from '../lib/disk.ts'
import { DiskFull } from './blobs.ts'

/** Free space is queried again after this many bytes or writes, not for every small blob. */
const BYTES_BETWEEN_QUERIES = 16 * 2 ** 20
const WRITES_BETWEEN_QUERIES = 256
/** With this much to spare the result is not awaited: a writer that waits misses the sync of its batch. */
const AMPLE_BYTES = 16 * BYTES_BETWEEN_QUERIES

/**
 * Keeps a reserve free on the filesystem, so that a full disk refuses writes before they begin and deletions still have
 * room. Other processes write too: the reserve must exceed what all of them write between two queries.
 */
export class Space {
  readonly #disk: Disk
  readonly #folder: string
  readonly #reserveBytes: number
  /** Space above the reserve at the last query. */
  #spare = 0
  #bytesLeft = 0
  #writesLeft = 0
  #querying: Promise<void> | undefined

  constructor(disk: Disk, folder: string, reserveBytes: number) {
    this.#disk = disk
    this.#folder = folder
    this.#reserveBytes = reserveBytes
  }

  /** Returns or resolves when this many bytes may be written; throws DiskFull. It waits only when space is short. */
  ensureSpace(bytes: number): Promise<void> | undefined {
    if (this.#disk.isFull?.() === true) throw new DiskFull()
    this.#writesLeft--
    this.#bytesLeft -= bytes
    if (this.#writesLeft >= 0 && this.#bytesLeft >= 0) return undefined
    const querying = this.#query()
    if (this.#spare < AMPLE_BYTES) return this.#decide(querying, bytes)
    querying.catch(() => {})
    return undefined
  }

  async #decide(querying: Promise<void>, bytes: number): Promise<void> {
    await querying
    if (this.#spare < bytes) throw new DiskFull()
  }

  #query(): Promise<void> {
    this.#querying ??= this.#refresh().finally(() => {
      this.#querying = undefined
    })
    return this.#querying
  }

  async #refresh(): Promise<void> {
    let free = 0
    try {
      free = await this.#disk.free(this.#folder)
    } finally {
      // If the query failed, no space is assumed, and the next writer waits for a new one.
      this.#spare = free - this.#reserveBytes
    }
    this.#bytesLeft = Math.min(this.#spare, BYTES_BETWEEN_QUERIES)
    // Below the reserve every write queries, so that the first one after space was freed succeeds.
    this.#writesLeft = this.#spare < 0 ? 0 : WRITES_BETWEEN_QUERIES
  }
}

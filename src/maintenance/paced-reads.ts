/** Records for a check that runs beside requests: read only, a page at a time, with pauses in between. */
import { keySuccessor } from '../lib/bytes.ts'
import { type Entry, type KeyRange, type Meta, type Projection, type Snapshot, scanMapAll } from '../meta/meta.ts'
import type { Pace } from './findings.ts'

export class PacedReads implements Meta {
  readonly #source: Pick<Snapshot, 'scan'>
  readonly #pace: Pace
  /** Entries read by scans. */
  records = 0

  constructor(source: Pick<Snapshot, 'scan'>, pace: Pace) {
    this.#source = source
    this.#pace = pace
  }

  async get(key: Buffer): Promise<Entry | undefined> {
    await this.#pace()
    const [entry] = await this.#source.scan({ start: key, end: keySuccessor(key) }, 1)
    return entry
  }

  async scan(range: KeyRange, limit: number, reverse = false): Promise<readonly Entry[]> {
    if (reverse) throw new Error('a snapshot is scanned forwards')
    await this.#pace()
    const entries = await this.#source.scan(range, limit)
    this.records += entries.length
    return entries
  }

  async scanMap<T>(range: KeyRange, limit: number, make: Projection<T>): Promise<readonly T[]> {
    return scanMapAll(await this.scan(range, limit), make)
  }

  commit(): Promise<boolean> {
    return Promise.reject(new Error('a check writes nothing'))
  }

  async close(): Promise<void> {}
}

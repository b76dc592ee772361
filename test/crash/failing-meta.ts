/** A metadata engine whose n-th commit fails, in each of the ways an engine can fail. */

import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import {
  type Entry,
  type KeyRange,
  type Meta,
  MetaFull,
  type Minitransaction,
  OutcomeUnknown,
  type Projection,
} from '../../src/meta/meta.ts'

/**
 * `full`: nothing was written, and the engine still works. `lost` and `applied`: the two cases of an unknown outcome.
 */
export type CommitFault = 'full' | 'lost' | 'applied'

export const COMMIT_FAULTS: readonly CommitFault[] = ['full', 'lost', 'applied']

export class FailingMeta implements Meta {
  readonly #below: Meta
  /** Called before and after each commit. */
  readonly #border: () => Promise<void>
  commits = 0
  #failAtCommit = 0
  #fault: CommitFault = 'full'
  #broken: OutcomeUnknown | undefined

  constructor(below: Meta, border: () => Promise<void> = async () => {}) {
    this.#below = below
    this.#border = border
  }

  /** The n-th commit from now fails (1 is the next one). */
  failAt(n: number, fault: CommitFault): void {
    this.#failAtCommit = this.commits + n
    this.#fault = fault
  }

  /** Behaves as after an unknown outcome from now on: the process that uses this engine counts as dead. */
  end(): void {
    this.#broken ??= new OutcomeUnknown('the process is gone')
  }

  async get(key: Buffer): Promise<Entry | undefined> {
    return this.#below.get(key)
  }

  scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]> {
    return this.#below.scan(range, limit, reverse)
  }

  scanMap<T>(range: KeyRange, limit: number, make: Projection<T>): Promise<readonly T[]> {
    return this.#below.scanMap(range, limit, make)
  }

  async commit(tx: Minitransaction): Promise<boolean> {
    if (this.#broken !== undefined) throw this.#broken
    if (++this.commits === this.#failAtCommit) return this.#fail(tx)
    await this.#border()
    const taken = await this.#below.commit(tx)
    await this.#border()
    return taken
  }

  async #fail(tx: Minitransaction): Promise<never> {
    if (this.#fault === 'full') throw new MetaFull('injected')
    this.#broken = new OutcomeUnknown('injected')
    if (this.#fault === 'applied') await this.#below.commit(tx)
    throw this.#broken
  }

  async close(): Promise<void> {}
}

/** Everything in the engine. An in-memory engine returns its state at the moment of the call. */
export const entriesOf = (meta: Meta): Promise<readonly Entry[]> =>
  meta.scan({ start: Buffer.alloc(0), end: undefined }, Number.MAX_SAFE_INTEGER)

const ENTRIES_PER_COMMIT = 8

/** The same records in a separate engine. */
export async function metaOf(entries: readonly Entry[]): Promise<Meta> {
  const copy = await openMemoryMeta()
  for (let from = 0; from < entries.length; from += ENTRIES_PER_COMMIT) {
    const writes = entries.slice(from, from + ENTRIES_PER_COMMIT).map(({ key, value }) => ({ key, value }))
    await copy.commit({ checks: [], writes })
  }
  return copy
}

/**
 * A lost record must not look like one that never existed: a missing key would be reported as 404, a backup tool would
 * delete its own copy of an unlisted key, and a bucket with held versions would appear empty. Every operation that
 * needs a lost record, scans across it or would write to it is refused until the metadata are rebuilt.
 */
import { copyOf, keySuccessor } from '../../lib/bytes.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type {
  Entry,
  EntryPair,
  KeyedRead,
  KeyRange,
  Meta,
  MetaStatistics,
  Minitransaction,
  Projection,
  RemoteReads,
  Verification,
} from '../../meta/meta.ts'
import { MetadataDamaged } from '../../model/faults.ts'
import type { StoreContext } from '../store-context.ts'
import type { LostRecords } from './lost-records.ts'

export class LostRecordGuard implements Meta {
  /** For maintenance, which must see the records that are present. */
  readonly unguarded: Meta
  readonly #losses: LostRecords
  readonly statistics?: () => Promise<MetaStatistics>
  readonly getBoth?: (first: KeyedRead, second: KeyedRead) => EntryPair
  readonly remote: RemoteReads | undefined

  constructor(meta: Meta, losses: LostRecords) {
    this.unguarded = meta
    this.#losses = losses
    this.remote = meta.remote && this.#guardRemote(meta.remote)
    if (meta.statistics !== undefined) this.statistics = () => meta.statistics!()
    if (meta.getBoth !== undefined) this.getBoth = (first, second) => this.#bothPresent(first, second)
  }

  #bothPresent(first: KeyedRead, second: KeyedRead): EntryPair {
    const found = this.unguarded.getBoth!(first, second)
    if (this.#losses.isAny) this.#assertPresent([first, second], found)
    return found
  }

  get(key: Buffer, known?: Entry): MaybePromise<Entry | undefined> {
    if (!this.#losses.isAny) return this.unguarded.get(key, known)
    if (this.#losses.has(key)) throw new MetadataDamaged()
    if (!this.#losses.mayHave(key)) return this.unguarded.get(key, known)
    return this.#requireEntry(key, known)
  }

  #guardRemote(remote: RemoteReads): RemoteReads {
    return {
      figures: remote.figures,
      getMany: async reads => {
        const found = await remote.getMany(reads)
        this.#assertPresent(reads, found)
        return found
      },
      scanWithKeys: async (range, limit, reads, headsOnly) => {
        const found = await remote.scanWithKeys(range, limit, reads, headsOnly)
        const { entries } = found
        this.#assertPresent(reads, found.records)
        const last = entries.length < limit ? undefined : entries.at(-1)
        if (this.#losses.isAny) this.#assertWhole(range, last && copyOf(last.key), false)
        return found
      },
    }
  }

  #assertPresent(reads: readonly KeyedRead[], found: readonly (Entry | undefined)[]): void {
    if (!this.#losses.isAny) return
    for (const [index, { key }] of reads.entries()) {
      const isAbsent = found[index] === undefined
      if (this.#losses.has(key) || (isAbsent && this.#losses.mayHave(key))) throw new MetadataDamaged()
    }
  }

  async #requireEntry(key: Buffer, known: Entry | undefined): Promise<Entry> {
    const entry = await this.unguarded.get(key, known)
    if (entry === undefined) throw new MetadataDamaged()
    return entry
  }

  async scan(range: KeyRange, limit: number, reverse = false): Promise<readonly Entry[]> {
    const entries = await this.unguarded.scan(range, limit, reverse)
    if (this.#losses.isAny) this.#assertWhole(range, entries.length < limit ? undefined : entries.at(-1)?.key, reverse)
    return entries
  }

  async scanMap<T>(range: KeyRange, limit: number, make: Projection<T>, verify?: Verification): Promise<readonly T[]> {
    if (!this.#losses.isAny) return this.unguarded.scanMap(range, limit, make, verify)
    let last: Buffer | undefined
    const trackLast: Projection<T> = (entry, index, isVerified) => {
      if (index === limit - 1) last = copyOf(entry.key)
      return make(entry, index, isVerified)
    }
    const made = await this.unguarded.scanMap(range, limit, trackLast, verify)
    this.#assertWhole(range, last, false)
    return made
  }

  /** `last` is the key at which the scan reached its limit; undefined when it covered the whole range. */
  #assertWhole({ start, end }: KeyRange, last: Buffer | undefined, reverse: boolean): void {
    const from = reverse && last !== undefined ? last : start
    const to = !reverse && last !== undefined ? keySuccessor(last) : end
    if (this.#losses.mayBeWithin(from, to)) throw new MetadataDamaged()
  }

  async commit(tx: Minitransaction): Promise<boolean> {
    if (this.#losses.isAny && tx.writes.some(({ key }) => this.#losses.has(key))) throw new MetadataDamaged()
    return this.unguarded.commit(tx)
  }

  close(): Promise<void> {
    return this.unguarded.close()
  }
}

/** The same store for maintenance: it sees the records that are present and skips the lost ones. */
export const unguarded = (context: StoreContext): StoreContext =>
  context.meta instanceof LostRecordGuard ? { ...context, meta: context.meta.unguarded } : context

/** Metadata in memory that answer as an engine behind a network does, and count the round trips. */
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import type {
  Entry,
  KeyedRead,
  KeyRange,
  MetaEngine,
  Minitransaction,
  Projection,
  RemoteReads,
  ScanWithKeys,
} from '../../src/meta/meta.ts'
import { HEAD_BYTES, scanMapAll, viewOf } from '../../src/meta/meta.ts'

export class RemoteMeta implements MetaEngine {
  /** Gets of one turn of the event loop share a round trip. */
  trips = 0
  /** Awaited once, just before the engine performs the next reads of this kind, or just after it. */
  interruption: { readonly kind: 'get' | 'scan'; readonly when: 'before' | 'after'; run(): Promise<void> } | undefined
  /** Performs the next commits instead, if at all, and decides when their outcome is known. */
  inDoubt: ((commit: () => Promise<boolean>) => Promise<boolean>) | undefined
  readonly #meta: MetaEngine
  #turn: Promise<void> | undefined
  readonly remote: RemoteReads = {
    getMany: reads => this.#getMany(reads),
    scanWithKeys: (range, limit, reads, headsOnly) => this.#scanWithKeys(range, limit, reads, headsOnly),
  }

  private constructor(meta: MetaEngine) {
    this.#meta = meta
  }

  static async open(): Promise<RemoteMeta> {
    return new RemoteMeta(await openMemoryMeta())
  }

  async #trip(): Promise<void> {
    this.trips++
    await new Promise(resolve => setImmediate(resolve))
  }

  async #interrupt(kind: 'get' | 'scan', when: 'before' | 'after'): Promise<void> {
    const { interruption } = this
    if (interruption?.kind !== kind || interruption.when !== when) return
    this.interruption = undefined
    await interruption.run()
  }

  async #getMany(reads: readonly KeyedRead[]): Promise<readonly (Entry | undefined)[]> {
    this.#turn ??= this.#trip().then(() => {
      this.#turn = undefined
    })
    await this.#turn
    await this.#interrupt('get', 'before')
    const found = this.#read(reads)
    await this.#interrupt('get', 'after')
    return found
  }

  #read(reads: readonly KeyedRead[]): readonly (Entry | undefined)[] {
    return reads.map(({ key, known }) => {
      const entry = this.#meta.get(key) as Entry | undefined
      return entry !== undefined && entry.stamp === known?.stamp ? known : entry
    })
  }

  async #scanWithKeys(
    range: KeyRange,
    limit: number,
    reads: readonly KeyedRead[],
    headsOnly = false,
  ): Promise<ScanWithKeys> {
    await this.#trip()
    await this.#interrupt('scan', 'before')
    const scanned = this.#meta.scan(range, limit)
    const records = this.#read(reads)
    const cut = (entry: Entry): Entry => ({ ...entry, value: entry.value.subarray(0, HEAD_BYTES) })
    return { records, entries: (headsOnly ? (await scanned).map(cut) : await scanned).map(viewOf) }
  }

  async get(key: Buffer, known?: Entry): Promise<Entry | undefined> {
    return (await this.#getMany([{ key, known }]))[0]
  }

  async scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]> {
    await this.#trip()
    return this.#meta.scan(range, limit, reverse)
  }

  async scanMap<T>(range: KeyRange, limit: number, make: Projection<T>): Promise<readonly T[]> {
    return scanMapAll(await this.scan(range, limit), make)
  }

  async commit(tx: Minitransaction): Promise<boolean> {
    await this.#trip()
    return this.inDoubt === undefined ? this.#meta.commit(tx) : this.inDoubt(() => this.#meta.commit(tx))
  }

  snapshot: MetaEngine['snapshot'] = () => this.#meta.snapshot()
  close: MetaEngine['close'] = () => this.#meta.close()
}

import {
  DamagedRecord,
  type Entry,
  type KeyRange,
  type Meta,
  type Minitransaction,
  type Projection,
  scanMapAll,
} from '../../src/meta/meta.ts'

/** An engine in which one record fails its checksum. */
export class DamagedMeta implements Meta {
  readonly #below: Meta
  readonly #damaged: Buffer

  constructor(below: Meta, damaged: Buffer) {
    this.#below = below
    this.#damaged = damaged
  }

  async get(key: Buffer): Promise<Entry | undefined> {
    if (key.equals(this.#damaged)) throw new DamagedRecord(key)
    return this.#below.get(key)
  }

  async scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]> {
    const entries = await this.#below.scan(range, limit, reverse)
    if (entries.some(entry => entry.key.equals(this.#damaged))) throw new DamagedRecord(this.#damaged)
    return entries
  }

  async scanMap<T>(range: KeyRange, limit: number, make: Projection<T>): Promise<readonly T[]> {
    return scanMapAll(await this.scan(range, limit), make)
  }

  commit(tx: Minitransaction): Promise<boolean> {
    return this.#below.commit(tx)
  }

  async close(): Promise<void> {}
}

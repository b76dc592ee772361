/**
 * A metadata engine that outlives its clients, as a database server does, may finish a commit of a process that is long
 * dead. Behind this fence every commit also depends on the owner's record: once somebody else owns the folder, nothing
 * that the old owner had under way can take effect any more.
 */
import type { Entry, KeyRange, Meta, Minitransaction, Stamp } from '../meta/meta.ts'
import { at } from './addresses.ts'

/** Somebody else owns the folder: this process must end. */
export class OwnershipLost extends Error {
  constructor() {
    super('another server has taken over')
    this.name = 'OwnershipLost'
  }
}

export class FencedMeta implements Meta {
  readonly #meta: Meta
  readonly #stamp: Stamp | undefined

  private constructor(meta: Meta, stamp: Stamp | undefined) {
    this.#meta = meta
    this.#stamp = stamp
  }

  /** For the owner, right after it became that. */
  static async over(meta: Meta): Promise<FencedMeta> {
    return new FencedMeta(meta, (await meta.get(at.owner()))?.stamp)
  }

  get(key: Buffer): Promise<Entry | undefined> {
    return this.#meta.get(key)
  }

  scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]> {
    return this.#meta.scan(range, limit, reverse)
  }

  async commit(tx: Minitransaction): Promise<boolean> {
    const fence = { key: at.owner(), stamp: this.#stamp }
    if (await this.#meta.commit({ checks: [...tx.checks, fence], writes: tx.writes })) return true
    if ((await this.#meta.get(at.owner()))?.stamp !== this.#stamp) throw new OwnershipLost()
    return false
  }

  close(): Promise<void> {
    return this.#meta.close()
  }
}

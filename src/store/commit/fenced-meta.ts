/**
 * A metadata engine that outlives its clients, as a database server does, may finish a commit of a process that is long
 * dead. Behind this fence every commit also depends on the owner's record, or on the fence of a worker: once somebody
 * else owns the folder, or the owner has taken the fence down, nothing that was under way can take effect any more.
 */
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Check, Entry, KeyRange, Meta, Minitransaction, Projection, Verification } from '../../meta/meta.ts'
import { recordKey } from './record-keys.ts'

/** Somebody else owns the folder: this process must end. */
export class OwnershipLost extends Error {
  constructor() {
    super('another server has taken over')
    this.name = 'OwnershipLost'
  }
}

export class FencedMeta implements Meta {
  readonly #meta: Meta
  readonly #fence: Check

  private constructor(meta: Meta, fence: Check) {
    this.#meta = meta
    this.#fence = fence
  }

  /** For the owner, right after it became that; for a worker of it, with the fence that the owner has put up for it. */
  static async over(meta: Meta, fence: Buffer = recordKey.owner()): Promise<FencedMeta> {
    const entry = await meta.get(fence)
    if (entry === undefined) throw new OwnershipLost()
    return new FencedMeta(meta, { key: fence, stamp: entry.stamp })
  }

  get(key: Buffer, known?: Entry): MaybePromise<Entry | undefined> {
    return this.#meta.get(key, known)
  }

  scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]> {
    return this.#meta.scan(range, limit, reverse)
  }

  scanMap<T>(range: KeyRange, limit: number, make: Projection<T>, verify?: Verification): Promise<readonly T[]> {
    return this.#meta.scanMap(range, limit, make, verify)
  }

  async commit(tx: Minitransaction): Promise<boolean> {
    const { key, stamp } = this.#fence
    if (await this.#meta.commit({ checks: [...tx.checks, this.#fence], writes: tx.writes })) return true
    if ((await this.#meta.get(key))?.stamp !== stamp) throw new OwnershipLost()
    return false
  }

  close(): Promise<void> {
    return this.#meta.close()
  }
}

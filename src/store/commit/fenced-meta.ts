/**
 * A metadata engine that outlives its clients, as a database server does, may complete a commit of a process that has
 * already died. Every commit through this fence also checks the owner record or a worker's fence record: once another
 * server owns the folder, or the owner has removed the fence, no commit in flight can take effect.
 */
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type {
  Check,
  Entry,
  KeyRange,
  Meta,
  Minitransaction,
  Projection,
  RemoteReads,
  Verification,
} from '../../meta/meta.ts'
import { recordKey } from './record-keys.ts'

/** Another server owns the folder; this process must exit. */
export class OwnershipLost extends Error {
  constructor() {
    super('another server has taken over the data folder')
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

  /** Called by an owner right after it took ownership, or by a worker with the fence its owner registered for it. */
  static async over(meta: Meta, fence: Buffer = recordKey.owner()): Promise<FencedMeta> {
    const entry = await meta.get(fence)
    if (entry === undefined) throw new OwnershipLost()
    return new FencedMeta(meta, { key: fence, stamp: entry.stamp })
  }

  get remote(): RemoteReads | undefined {
    return this.#meta.remote
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

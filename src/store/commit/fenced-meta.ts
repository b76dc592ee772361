/**
 * A metadata engine that outlives its clients, as a database server does, may complete a commit of a process that has
 * already died. Every commit through this fence also checks records that others remove before they treat the process as
 * dead: the owner of the folder, the member of the cluster it belongs to, or the fence of a worker. Once one of them
 * has changed, no commit in flight can take effect.
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

/** This process may not commit any more and must stop serving. */
export class OwnershipLost extends Error {
  constructor(why = 'another server has taken over the data folder') {
    super(why)
    this.name = 'OwnershipLost'
  }
}

/** A record whose change ends the right to commit. */
export interface Fence extends Check {
  /** The error of a commit that the fence has refused. */
  lost(): Error
}

/** The fence as it is now; the caller has just written the record, or was admitted by the process that did. */
export async function fenceAt(meta: Meta, key: Buffer, lost = (): Error => new OwnershipLost()): Promise<Fence> {
  const entry = await meta.get(key)
  if (entry === undefined) throw lost()
  return { key, stamp: entry.stamp, lost }
}

export class FencedMeta implements Meta {
  readonly #meta: Meta
  readonly #fences: readonly Fence[]

  constructor(meta: Meta, fences: readonly Fence[]) {
    this.#meta = meta
    this.#fences = fences
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
    if (await this.#meta.commit({ checks: [...tx.checks, ...this.#fences], writes: tx.writes })) return true
    for (const fence of this.#fences) {
      if ((await this.#meta.get(fence.key))?.stamp !== fence.stamp) throw fence.lost()
    }
    return false
  }

  close(): Promise<void> {
    return this.#meta.close()
  }
}

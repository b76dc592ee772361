/** What is noted in a ledger beside changes of locks themselves: versions made with one, and what a lock refused. */
import { Fault } from '../../model/faults.ts'
import type { LockReason } from '../../model/ledger.ts'
import type { Lock, Version } from '../../model/version.ts'
import { lockForLedger } from '../../rules/ledger.ts'
import { requestsLock } from '../../rules/lock.ts'
import { type Transaction, transact } from '../commit/transaction.ts'
import { reserveRecordSpace } from '../content/ingest.ts'
import type { StoreContext } from '../store-context.ts'

interface New {
  readonly bucket: string
  readonly key: string
  /** What the request asks for. */
  readonly lock: Lock
}

/**
 * Decides about a version that is being made. One that gets a lock because its request asks for it is noted; one that
 * gets the bucket's default is not: the configuration's entry and the version's date tell, and plain writes would
 * all have to wait for the end of one chain.
 */
export function transactNewVersion<T extends Version | undefined>(
  context: StoreContext,
  { bucket, key, lock }: New,
  attempt: (tx: Transaction) => Promise<T>,
): Promise<T> {
  if (!requestsLock(lock)) return transact(context, attempt)
  return context.ledgerCommits.append(context, bucket, async (tx, note) => {
    const made = await attempt(tx)
    if (made !== undefined) {
      note({ what: 'created', key, versionId: made.id, before: null, after: lockForLedger(made.lock) })
    }
    return made
  })
}

interface Refusal {
  readonly context: StoreContext
  readonly bucket: string
  readonly what: 'delete refused' | 'retention refused'
  readonly key: string
  readonly versionId: string
  readonly reason: LockReason
}

interface Waiting {
  times: number
  done: Promise<void> | undefined
}

/** Refusals of one kind that wait for the same commit are one entry that counts them. */
export class RefusalEntries {
  readonly #waiting = new Map<string, Waiting>()
  /** In this process since its start. */
  total = 0

  async note(refusal: Refusal): Promise<void> {
    this.total++
    const { context, bucket, what, key, versionId, reason } = refusal
    const { request: _, ...who } = context.actor
    const name = JSON.stringify([bucket, what, key, versionId, reason, who])
    const same = this.#waiting.get(name)
    if (same !== undefined) {
      same.times++
      return same.done
    }
    const first: Waiting = { times: 1, done: undefined }
    this.#waiting.set(name, first)
    first.done = context.ledgerCommits.append(context, bucket, async (_d, note) => {
      // From the first attempt on nobody joins: whoever waits is told only what is in the commit.
      if (this.#waiting.get(name) === first) this.#waiting.delete(name)
      note({ what, key, versionId, reason, ...(first.times > 1 ? { times: first.times } : {}) })
    })
    return first.done
  }
}

/**
 * Before anybody hears of a refusal it is in the ledger. Any other error is none of its business. On a full disk there
 * is no entry, and so no answer but that: whoever asks again and again must not use up the room that deletes need.
 */
export async function recordRefusal(
  context: StoreContext,
  what: Refusal['what'],
  { bucket, key }: { readonly bucket: string; readonly key: string },
  error: unknown,
): Promise<void> {
  if (!(error instanceof Fault) || error.detail.lock === undefined) return
  await reserveRecordSpace(context)
  const { lock, VersionId } = error.detail
  const refusal = { context, bucket, what, key, versionId: String(VersionId), reason: lock as LockReason }
  await context.refusals.note(refusal)
}

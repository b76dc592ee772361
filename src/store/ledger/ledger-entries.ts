/** What is noted in a ledger beside changes of locks themselves: versions made with one, and what a lock refused. */
import { Fault } from '../../model/faults.ts'
import type { LockReason } from '../../model/ledger.ts'
import type { Lock, Version } from '../../model/version.ts'
import { lockForLedger } from '../../rules/ledger.ts'
import { requestsLock } from '../../rules/lock.ts'
import { type Transaction, transact } from '../commit/transaction.ts'
import { reserveRecordSpace } from '../content/ingest.ts'
import type { StoreContext } from '../store-context.ts'
import type { LedgerRefusal } from './refusal-entries.ts'

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

/**
 * Before anybody hears of a refusal it is in the ledger. Any other error is none of its business. On a full disk there
 * is no entry, and so no answer but that: whoever asks again and again must not use up the room that deletes need.
 */
export async function recordRefusal(
  context: StoreContext,
  what: LedgerRefusal['what'],
  { bucket, key }: { readonly bucket: string; readonly key: string },
  error: unknown,
): Promise<void> {
  if (!(error instanceof Fault) || error.detail.lock === undefined) return
  await reserveRecordSpace(context)
  const { lock, VersionId } = error.detail
  const refusal = { context, bucket, what, key, versionId: String(VersionId), reason: lock as LockReason }
  await context.refusals.note(refusal)
}

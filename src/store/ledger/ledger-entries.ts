/** Ledger entries other than lock changes: versions created with a lock, and operations that a lock refused. */
import { Fault } from '../../model/faults.ts'
import type { LockReason } from '../../model/ledger.ts'
import type { Lock, Version } from '../../model/version.ts'
import { lockForLedger } from '../../rules/ledger.ts'
import { requestsLock } from '../../rules/lock.ts'
import { type Transaction, transact } from '../commit/transaction.ts'
import { reserveRecordSpace } from '../content/ingest.ts'
import type { StoreContext } from '../store-context.ts'
import type { LedgerRefusal } from './refusal-entries.ts'

interface NewVersionLock {
  readonly bucket: string
  readonly key: string
  /** The lock the request asks for. */
  readonly lock: Lock
}

/**
 * Transacts a new version. A lock that the request asks for is recorded in the ledger; a bucket's default is not: the
 * configuration entry and the version's date imply it, and otherwise all plain writes would contend for the head of the
 * chain.
 */
export function transactNewVersion<T extends Version | undefined>(
  context: StoreContext,
  { bucket, key, lock }: NewVersionLock,
  attempt: (tx: Transaction) => Promise<T>,
): Promise<T> {
  if (!requestsLock(lock)) return transact(context, attempt)
  return context.ledgerCommits.transact(context, bucket, async (tx, note) => {
    const made = await attempt(tx)
    if (made !== undefined) {
      note({ what: 'created', key, versionId: made.id, before: null, after: lockForLedger(made.lock) })
    }
    return made
  })
}

/**
 * Records a refusal in the ledger before the response; other errors are ignored. On a full disk the refusal cannot be
 * recorded and fails instead: repeated requests must not use up the space that deletes need.
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

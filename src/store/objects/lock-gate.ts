/**
 * P20, P32. The lock gate. A version's record is removed here and nowhere else, and the lock rule is evaluated in the
 * same transaction; a lock that a request sets, and an operation that a lock refuses, are recorded in the ledger. No
 * path (delete, batch delete, overwrite of a null version, lifecycle, maintenance) and no race can bypass a hold.
 */
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Bucket } from '../../model/bucket.ts'
import type { Content } from '../../model/content.ts'
import { Fault } from '../../model/faults.ts'
import type { LockReason } from '../../model/ledger.ts'
import { countCurrent, countVersion } from '../../model/usage.ts'
import type { Lock, Version } from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'
import { lockForLedger } from '../../rules/ledger.ts'
import { initialLock, mayRemove, requestsLock } from '../../rules/lock.ts'
import { isCurrent } from '../commit/record-keys.ts'
import type { StoredVersion } from '../commit/transaction.ts'
import { type Transaction, transact } from '../commit/transaction.ts'
import { reserveRecordSpace } from '../content/ingest.ts'
import { addGarbage } from '../content/reference-counts.ts'
import type { LedgerRefusal } from '../ledger/refusal-entries.ts'
import type { StoreContext } from '../store-context.ts'

/**
 * G19, P19. A requested lock is checked against the wall clock. A bucket's default counts from the latest known time: a
 * server whose clock starts years behind would otherwise create locks that expire as soon as it is corrected.
 */
export async function lockForNewVersion(
  context: StoreContext,
  bucket: Bucket,
  requested: Lock,
  now: number,
): Promise<Lock> {
  const usesDefault = bucket.defaultRetention !== undefined && requested.retention === undefined
  return initialLock(bucket, requested, usesDefault ? await context.lockClock.latest() : now)
}

export interface RemovalRights {
  /** The caller asked to bypass governance retention and is permitted to. */
  readonly bypass: boolean
}

/** R39. */
const PROTECTED = 'Access Denied because object protected by object lock.'

export const NO_BYPASS: RemovalRights = { bypass: false }

/** The fault for an operation that a lock forbids; `recordRefusal` records it in the ledger. */
export const lockedFault = (refusal: LockReason, version: Version): Fault =>
  new Fault('AccessDenied', { reason: PROTECTED, lock: refusal, VersionId: version.id })

/** The time that decides whether this lock is in force. Only retention depends on it. */
export const timeForLock = (context: StoreContext, { retention }: Lock): MaybePromise<number> =>
  retention === undefined ? 0 : context.lockClock.now()

export async function removeVersion(
  context: StoreContext,
  tx: Transaction,
  bucket: Bucket,
  target: StoredVersion,
  rights: RemovalRights,
): Promise<void> {
  const { lock } = target.version
  const refusal = mayRemove(lock, await timeForLock(context, lock), rights.bypass)
  if (refusal !== undefined) throw lockedFault(refusal, target.version)
  dropReferences(context, tx, target.version.content)
  tx.remove(target.entry.key)
  countVersion(tx.usageOf(bucket.id), target.version, -1)
  if (isCurrent(target.entry.key)) countCurrent(tx.usageOf(bucket.id), target.version, -1)
}

/** Moves the references of a content to a garbage record. */
function dropReferences(context: StoreContext, tx: Transaction, content: Content): void {
  if (content.kind === 'shared') addGarbage(context, tx, { kind: 'content', id: content.id })
  else if (content.kind === 'slices' && content.slices.length > 0) {
    addGarbage(context, tx, { kind: 'slices', slices: content.slices })
  }
}

/** Moves a version between current and older in one commit; no reference is dropped. */
export function moveVersion(tx: Transaction, bucket: Bucket, from: StoredVersion, to: Buffer, version: Version): void {
  tx.remove(from.entry.key)
  tx.put(to, versionFormat.encode(version, to))
  if (isCurrent(from.entry.key)) countCurrent(tx.usageOf(bucket.id), version, -1)
  if (isCurrent(to)) countCurrent(tx.usageOf(bucket.id), version, 1)
}

interface NewVersionLock {
  readonly bucket: string
  readonly key: string
  /** The lock the request asks for. */
  readonly lock: Lock
}

/**
 * The transaction of a new version. A lock that the request asks for is recorded in the ledger; a bucket's default is
 * not: the configuration entry and the version's date imply it, and otherwise all plain writes would contend for the
 * head of the chain.
 */
export function transactRecordingLock<T extends Version | undefined>(
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

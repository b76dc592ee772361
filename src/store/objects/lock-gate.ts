/**
 * P20, P32. The lock gate. A version's record is removed here and nowhere else, and the lock rule is evaluated in the
 * same transaction. No path (delete, batch delete, overwrite of a null version, lifecycle, maintenance) and no race can
 * bypass a hold.
 */
import type { Bucket } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import type { LockReason } from '../../model/ledger.ts'
import type { Lock, Version } from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'
import { initialLock, mayRemove } from '../../rules/lock.ts'
import type { StoredVersion } from '../commit/decoded-records.ts'
import { isCurrent } from '../commit/record-keys.ts'
import type { Transaction } from '../commit/transaction.ts'
import { dropReference } from '../content/reference-counts.ts'
import type { StoreContext } from '../store-context.ts'
import { currentDelta, versionDelta } from '../usage/usage-delta.ts'

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

export async function removeVersion(
  context: StoreContext,
  tx: Transaction,
  bucket: Bucket,
  target: StoredVersion,
  rights: RemovalRights,
): Promise<void> {
  const { lock } = target.version
  // Only retention depends on the time.
  const time = lock.retention === undefined ? 0 : await context.lockClock.now()
  const refusal = mayRemove(lock, time, rights.bypass)
  if (refusal !== undefined) throw lockedFault(refusal, target.version)
  dropReference(context, tx, target.version.content)
  tx.remove(target.entry.key)
  versionDelta(tx, bucket, target.version, -1)
  if (isCurrent(target.entry.key)) currentDelta(tx, bucket, target.version, -1)
}

/** Moves a version between current and older in one commit; no reference is dropped. */
export function moveVersion(tx: Transaction, bucket: Bucket, from: StoredVersion, to: Buffer, version: Version): void {
  tx.remove(from.entry.key)
  tx.put(to, versionFormat.encode(version, to))
  if (isCurrent(from.entry.key)) currentDelta(tx, bucket, version, -1)
  if (isCurrent(to)) currentDelta(tx, bucket, version, 1)
}

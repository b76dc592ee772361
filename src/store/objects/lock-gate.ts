/**
 * P20, P32. The gate. A version's record leaves its place here and nowhere else, and the lock rule is asked in the same
 * atomic step, so no path (delete, batch, overwrite of a null version, lifecycle, upkeep) and no race can slip past a
 * hold.
 */
import type { Bucket } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import type { LockReason } from '../../model/ledger.ts'
import type { Version } from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'
import { mayRemove } from '../../rules/lock.ts'
import type { StoredVersion } from '../commit/decoded-records.ts'
import { isCurrent } from '../commit/record-keys.ts'
import type { Transaction } from '../commit/transaction.ts'
import { dropReference } from '../content/reference-counts.ts'
import type { StoreContext } from '../store-context.ts'
import { currentDelta, versionDelta } from '../usage/usage-delta.ts'

export interface RemovalRights {
  /** The caller asked to bypass governance retention and has the right to. */
  readonly bypass: boolean
}

/** R39. */
const PROTECTED = 'Access Denied because object protected by object lock.'

export const NO_BYPASS: RemovalRights = { bypass: false }

/** What a lock answers to whoever would break it. The ledger gets to know. */
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
  // Only retention ends by itself.
  const time = lock.retention === undefined ? 0 : await context.lockClock.now()
  const refusal = mayRemove(lock, time, rights.bypass)
  if (refusal !== undefined) throw lockedFault(refusal, target.version)
  dropReference(context, tx, target.version.content)
  tx.remove(target.entry.key)
  versionDelta(tx, bucket, target.version, -1)
  if (isCurrent(target.entry.key)) currentDelta(tx, bucket, target.version, -1)
}

/** The same version at another place among those of its key, in the same commit: nothing is given up. */
export function moveVersion(tx: Transaction, bucket: Bucket, from: StoredVersion, to: Buffer, version: Version): void {
  tx.remove(from.entry.key)
  tx.put(to, versionFormat.encode(version, to))
  if (isCurrent(from.entry.key)) currentDelta(tx, bucket, version, -1)
  if (isCurrent(to)) currentDelta(tx, bucket, version, 1)
}

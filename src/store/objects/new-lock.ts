/** The lock of a new version. */
import type { Bucket } from '../../model/bucket.ts'
import type { Lock } from '../../model/version.ts'
import { initialLock } from '../../rules/lock.ts'
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

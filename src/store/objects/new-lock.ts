/** The lock of a version that is being made. */
import type { Bucket } from '../../model/bucket.ts'
import type { Lock } from '../../model/version.ts'
import { initialLock } from '../../rules/lock.ts'
import type { StoreContext } from '../store-context.ts'

/**
 * G19, P19. What is asked for is judged by the clock; a bucket's default counts from the latest time that is known:
 * a server that comes up with its clock years behind would make locks that are over when the clock is set right.
 */
export async function lockForNewVersion(
  context: StoreContext,
  bucket: Bucket,
  wanted: Lock,
  now: number,
): Promise<Lock> {
  const isByDefault = bucket.defaultRetention !== undefined && wanted.retention === undefined
  return initialLock(bucket, wanted, isByDefault ? await context.lockClock.latest() : now)
}

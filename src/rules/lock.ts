import type { Bucket } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import type { LockReason } from '../model/ledger.ts'
import type { Lock } from '../model/version.ts'

export type LockRefusal = LockReason

/**
 * G19, R41, P1, P13, P14, P16. The only place that decides whether a version may be removed. A legal hold always
 * refuses; compliance retention refuses until it ends; governance retention refuses until it ends or a caller with the
 * bypass permission requests the bypass.
 */
export function mayRemove(lock: Lock, now: number, bypass: boolean): LockRefusal | undefined {
  if (lock.hold === true) return 'held'
  const { retention } = lock
  if (retention === undefined || retention.until <= now) return undefined
  if (retention.mode === 'compliance') return 'compliance'
  return bypass ? undefined : 'governance'
}

/**
 * G19, P15. Any caller who may set retention may extend it in its mode. Shortening or removing governance retention, or
 * changing its mode, needs the bypass permission; compliance retention in force only ever gets longer.
 */
export function mayChangeRetention(
  lock: Lock,
  wanted: Lock['retention'],
  now: number,
  bypass: boolean,
): LockRefusal | undefined {
  const { retention } = lock
  if (retention === undefined || retention.until <= now) return undefined
  if (wanted !== undefined && wanted.mode === retention.mode && wanted.until >= retention.until) return undefined
  if (retention.mode === 'compliance') return 'compliance'
  return bypass ? undefined : 'governance'
}

/** Whether the request sets a lock explicitly, as opposed to the bucket's default. */
export const requestsLock = ({ hold, retention }: Lock): boolean => hold !== undefined || retention !== undefined

const DAY_MS = 86_400_000

/** G20: a hundred years including leap days. A longer retention is a typing error that no one could undo. */
const RETENTION_DAYS_MAX = 36_525

/** R27. Checks a requested retain-until date. */
export function checkRetainUntil(until: number, now: number): void {
  if (until <= now) throw new Fault('InvalidArgument', { reason: 'The retain until date must be in the future!' })
  if (until <= now + RETENTION_DAYS_MAX * DAY_MS) return
  throw new Fault('InvalidArgument', { reason: 'The retain until date must be within the next hundred years.' })
}

/** G19, P25, P26. The lock of a new version: as requested, else the bucket's default retention counted from now. */
export function initialLock(bucket: Bucket, wanted: Lock, now: number): Lock {
  if (!bucket.lockEnabled) {
    if (wanted.retention === undefined && wanted.hold === undefined) return wanted
    throw new Fault('InvalidRequest', { reason: 'Bucket is missing ObjectLockConfiguration' })
  }
  if (wanted.retention !== undefined) {
    checkRetainUntil(wanted.retention.until, now)
    return wanted
  }
  if (bucket.defaultRetention === undefined) return wanted
  const { mode, days } = bucket.defaultRetention
  return { hold: wanted.hold, retention: { mode, until: now + days * DAY_MS } }
}

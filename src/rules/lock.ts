import type { Bucket } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import type { LockReason } from '../model/ledger.ts'
import type { Lock } from '../model/version.ts'

export type LockRefusal = LockReason

/**
 * G19, R41, P1, P13, P14, P16. The only place that decides whether a version may be removed. A hold yields to nobody;
 * compliance retention yields to nothing but time; governance retention yields to time or to a caller who holds the
 * bypass right.
 */
export function mayRemove(lock: Lock, now: number, bypass: boolean): LockRefusal | undefined {
  if (lock.hold === true) return 'held'
  const { retention } = lock
  if (retention === undefined || retention.until <= now) return undefined
  if (retention.mode === 'compliance') return 'compliance'
  return bypass ? undefined : 'governance'
}

/**
 * G19, P15. Retention in force may be lengthened in its mode by anyone who may set it. Shortening, lifting or changing
 * the mode of governance needs the bypass right; compliance never gives way.
 */
export function mayRetain(
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

/** The request itself asks for a lock, or for none; a default is the bucket's. */
export const asksForLock = ({ hold, retention }: Lock): boolean => hold !== undefined || retention !== undefined

const DAY_MS = 86_400_000

/** G20: a hundred years, leap days and all. Whoever locks for longer has mistyped, and nobody could mend it. */
const RETENTION_DAYS_MAX = 36_525

/** R27. The end of a retention that somebody asks for. */
export function checkRetainUntil(until: number, now: number): void {
  if (until <= now) throw new Fault('InvalidArgument', { reason: 'The retain until date must be in the future!' })
  if (until <= now + RETENTION_DAYS_MAX * DAY_MS) return
  throw new Fault('InvalidArgument', { reason: 'The retain until date must be within a hundred years.' })
}

/**
 * G19, P25, P26. The lock of a new version: what was asked for, else the bucket's default retention counted from now.
 */
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

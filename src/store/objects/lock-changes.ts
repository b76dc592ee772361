/** P21. Changes of a version's lock. Each is recorded in the ledger by the same commit; an unchanged lock is not. */
import { isDeepStrictEqual } from 'node:util'
import { Fault } from '../../model/faults.ts'
import type { Lock, Version } from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'
import { lockForLedger } from '../../rules/ledger.ts'
import { checkRetainUntil, mayChangeRetention, mayRemove } from '../../rules/lock.ts'
import { bucketForRead } from '../commit/transaction.ts'
import { checkNamedKey } from '../keys/named-keys.ts'
import type { StoreContext } from '../store-context.ts'
import { lockedFault, type RemovalRights, recordRefusal } from './lock-gate.ts'
import { readHead, requireVersion, type VersionSelector } from './versions.ts'

export function setHold(context: StoreContext, which: VersionSelector, hold: boolean): Promise<Version> {
  return changeLock(context, which, 'hold', async ({ lock }) => ({ lock: { ...lock, hold }, bypassed: false }))
}

export async function setRetention(
  context: StoreContext,
  which: VersionSelector,
  retention: Lock['retention'],
  rights: RemovalRights,
): Promise<Version> {
  const change = async (version: Version): Promise<ChangedLock> => {
    if (retention !== undefined) checkRetainUntil(retention.until, context.clock.now())
    const now = await context.lockClock.now()
    const refusal = mayChangeRetention(version.lock, retention, now, rights.bypass)
    if (refusal !== undefined) throw lockedFault(refusal, version)
    const bypassed = mayChangeRetention(version.lock, retention, now, false) !== undefined
    return { lock: { ...version.lock, retention }, bypassed }
  }
  try {
    return await changeLock(context, which, 'retention', change)
  } catch (error) {
    await recordRefusal(context, 'retention refused', which, error)
    throw error
  }
}

interface ChangedLock {
  readonly lock: Lock
  readonly bypassed: boolean
}

function changeLock(
  context: StoreContext,
  which: VersionSelector,
  what: 'hold' | 'retention',
  change: (version: Version) => Promise<ChangedLock>,
): Promise<Version> {
  return context.ledgerCommits.transact(context, which.bucket, async (tx, note) => {
    const bucket = await bucketForRead(tx, which.bucket)
    if (!bucket.lockEnabled) throw new Fault('ObjectLockConfigurationNotFoundError', { BucketName: bucket.name })
    const target = await requireVersion(tx, await readHead(tx, bucket, which.key), which.versionId)
    const { lock, bypassed } = await change(target.version)
    const [before, after] = [lockForLedger(target.version.lock), lockForLedger(lock)]
    if (isDeepStrictEqual(before, after)) return target.version
    const { encryption } = target.version
    const staysLocked = mayRemove(lock, context.clock.now(), false) !== undefined
    if (staysLocked && encryption !== undefined) await checkNamedKey(tx, encryption)
    const changed = { ...target.version, lock }
    tx.put(target.entry.key, versionFormat.encode(changed, target.entry.key))
    const { key } = which
    note({ what, key, versionId: changed.id, before, after, ...(bypassed ? { bypass: true } : {}) })
    return changed
  })
}

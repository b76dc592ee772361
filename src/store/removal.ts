/**
 * The gate. A version's record leaves its place here and nowhere else, and the lock rule is asked in the same atomic
 * step, so no path (delete, batch, overwrite of a null version, lifecycle, upkeep) and no race can slip past a hold.
 */
import type { Bucket } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import type { Refused } from '../model/ledger.ts'
import type { Version } from '../model/version.ts'
import { versionFormat } from '../model/version-record.ts'
import { mayRemove } from '../rules/lock.ts'
import { isCurrent } from './addresses.ts'
import type { Decision } from './decision.ts'
import type { Engine } from './engine.ts'
import type { Located } from './reading.ts'
import { abandon } from './sharing.ts'
import { tallyCurrent, tallyVersion } from './tally.ts'

export interface Allowance {
  /** The caller asked to bypass governance retention and has the right to. */
  readonly bypass: boolean
}

/** R39. */
const PROTECTED = 'Access Denied because object protected by object lock.'

export const NO_BYPASS: Allowance = { bypass: false }

/** What a lock answers to whoever would break it. The ledger gets to know. */
export const protectedBy = (refusal: Refused, version: Version): Fault =>
  new Fault('AccessDenied', { reason: PROTECTED, lock: refusal, VersionId: version.id })

export async function removeVersion(
  engine: Engine,
  d: Decision,
  bucket: Bucket,
  target: Located,
  allowance: Allowance,
): Promise<void> {
  const { lock } = target.version
  // Only retention ends by itself.
  const time = lock.retention === undefined ? 0 : await engine.lockClock.now()
  const refusal = mayRemove(lock, time, allowance.bypass)
  if (refusal !== undefined) throw protectedBy(refusal, target.version)
  abandon(engine, d, target.version.content)
  d.remove(target.entry.key)
  tallyVersion(d, bucket, target.version, -1)
  if (isCurrent(target.entry.key)) tallyCurrent(d, bucket, target.version, -1)
}

/** The same version at another place among those of its key, in the same commit: nothing is given up. */
export function moveVersion(d: Decision, bucket: Bucket, from: Located, to: Buffer, version: Version): void {
  d.remove(from.entry.key)
  d.put(to, versionFormat.encode(version, to))
  if (isCurrent(from.entry.key)) tallyCurrent(d, bucket, version, -1)
  if (isCurrent(to)) tallyCurrent(d, bucket, version, 1)
}

/** Reads and changes the lock of one version: its legal hold and its retention. */
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'
import { type Permission, permissionOf } from '../api/permissions.ts'
import { objectDetails, versionQuery } from '../objects/details.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { sendDocument } from '../objects/request.ts'
import type { Retention } from './retention-choice.ts'

type Answer = AdminApi['GetPermissions']['output']['answers'][number]
type Since = { readonly time: string; readonly by: string } | null

/** Undefined is what the caller may not read. */
export interface VersionLock {
  readonly versionId: string | undefined
  readonly isHeld: boolean | undefined
  readonly heldSince: Since
  readonly retention: Retention | null | undefined
  readonly retainedSince: Since
}

export interface LockFacts {
  /** Absent when the bucket has no Object Lock, or when there is no such version. */
  readonly lock: VersionLock | undefined
  readonly hold: Permission
  readonly retain: Permission
  readonly bypass: Permission
}

const ACTIONS = [
  's3:PutObjectLegalHold',
  's3:PutObjectRetention',
  's3:BypassGovernanceRetention',
  's3:GetObjectLegalHold',
  's3:GetObjectRetention',
]

/** The explanation of a change tells the lock, since when and by whom; but only to those who may change it. */
export async function lockFacts(place: ObjectPlace, signal: AbortSignal): Promise<LockFacts> {
  const questions = ACTIONS.map(action => ({ action, ...place }))
  const { answers } = await call('GetPermissions', { questions }, { signal })
  const [hold, retain, bypass, readHold, readRetention] = answers.map(permissionOf) as [
    Permission,
    Permission,
    Permission,
    Permission,
    Permission,
  ]
  const explained = answers[1]!.lock
  if (explained !== null) return { lock: lockOf(explained), hold, retain, bypass }
  if (!retain.isRefused) return { lock: undefined, hold, retain, bypass }
  const details = await objectDetails(place.bucket, place.key, place.versionId)
  const mode = details.retention?.mode === 'COMPLIANCE' ? 'compliance' : 'governance'
  const lock: VersionLock = {
    versionId: details.versionId,
    isHeld: readHold.isRefused ? undefined : details.hold,
    heldSince: null,
    retention: readRetention.isRefused
      ? undefined
      : details.retention
        ? { mode, until: details.retention.until }
        : null,
    retainedSince: null,
  }
  return { lock, hold, retain, bypass }
}

function lockOf({ versionId, hold, heldSince, retention, retainedSince }: NonNullable<Answer['lock']>): VersionLock {
  return {
    versionId,
    isHeld: hold === 'ON',
    heldSince,
    retention: retention === undefined ? null : { mode: retention.mode, until: new Date(retention.until) },
    retainedSince,
  }
}

export async function putHold({ bucket, key, versionId }: ObjectPlace, isOn: boolean): Promise<void> {
  const body = `<LegalHold><Status>${isOn ? 'ON' : 'OFF'}</Status></LegalHold>`
  await sendDocument({ method: 'PUT', bucket, key, query: { 'legal-hold': '', ...versionQuery(versionId) } }, body)
}

/** Without a retention, the one that is there is lifted. */
export async function putRetention(
  { bucket, key, versionId }: ObjectPlace,
  retention: Retention | undefined,
  { bypass }: { readonly bypass: boolean },
): Promise<void> {
  const content =
    retention === undefined
      ? ''
      : `<Mode>${retention.mode.toUpperCase()}</Mode>` +
        `<RetainUntilDate>${retention.until.toISOString()}</RetainUntilDate>`
  const headers: Record<string, string> = bypass ? { 'x-amz-bypass-governance-retention': 'true' } : {}
  const query = { retention: '', ...versionQuery(versionId) }
  await sendDocument({ method: 'PUT', bucket, key, query, headers }, `<Retention>${content}</Retention>`)
}

/** Explains why a request is allowed or refused: the access decision, the lock decision, and both as text or JSON. */
import type { Caller } from '../model/caller.ts'
import type { Lock } from '../model/version.ts'
import type { Action } from './access/actions.ts'
import type { AccessVerdict } from './access/evaluate.ts'
import { actionNames } from './access/names.ts'
import { describeReason } from './access/reasons.ts'
import { formatTimestamp } from './http-date.ts'
import { type LockRefusal, mayRemove } from './lock.ts'

/** When a lock was set, and by whom. */
export interface Since {
  readonly time: string
  readonly by: string
}

/** The lock of the version that the request names. */
export interface LockFacts {
  readonly versionId: string
  readonly lock: Lock
  /** The time against which retention is evaluated. */
  readonly now: number
  readonly heldSince: Since | undefined
  readonly retainedSince: Since | undefined
}

export interface ExplainedRequest {
  readonly as: Caller
  readonly action: Action
  readonly bucket: string | undefined
  readonly key: string | undefined
  readonly versionId: string | undefined
  /** The request asks to bypass governance retention. */
  readonly bypass: boolean
  /** D10. A delete marker must not hide an object under legal hold. */
  readonly keepHeld: boolean
}

/** A policy that applies to the request, numbered as in the reasons. */
export interface ExplainedPolicy {
  readonly policy: 'identity' | 'bucket'
  /** Which of the user's policies; 0 for the bucket's. */
  readonly number: number
  /** The text as it was set. */
  readonly document: string
}

interface ExplanationInput {
  readonly access: AccessVerdict
  /** Condition keys that decide the outcome and have no value in the question. */
  readonly dependsOn: readonly string[]
  /** The object does not exist; `access` then tells whether the caller may learn that. */
  readonly isMissing: boolean
  readonly lock: LockFacts | undefined
  readonly mayBypass: boolean
  readonly notes: readonly string[]
  /** Those of the caller and of the bucket. */
  readonly policies: readonly ExplainedPolicy[]
}

export interface Explanation extends ExplanationInput {
  readonly request: ExplainedRequest
  readonly verdict: 'allowed' | 'refused' | 'depends'
  readonly because: 'access' | 'lock' | 'missing'
  readonly stoppedBy: LockRefusal | undefined
}

/** The lock's refusal, if any. Only removing or hiding a version meets a lock; creating versions never does. */
function refusalOf(
  { action, bypass, keepHeld }: ExplainedRequest,
  { lock, mayBypass }: ExplanationInput,
): LockRefusal | undefined {
  if (lock === undefined) return undefined
  if (action === 'DeleteObject') return keepHeld && lock.lock.hold === true ? 'held' : undefined
  return action === 'DeleteObjectVersion' ? mayRemove(lock.lock, lock.now, bypass && mayBypass) : undefined
}

export function explanationOf(request: ExplainedRequest, findings: ExplanationInput): Explanation {
  const stoppedBy = refusalOf(request, findings)
  const { access, dependsOn, isMissing } = findings
  const base = { ...findings, request, stoppedBy }
  if (dependsOn.length === 0 && !access.allowed) return { ...base, verdict: 'refused', because: 'access' }
  if (isMissing) return { ...base, verdict: 'refused', because: 'missing' }
  if (stoppedBy !== undefined) return { ...base, verdict: 'refused', because: 'lock' }
  return { ...base, verdict: dependsOn.length > 0 ? 'depends' : 'allowed', because: 'access' }
}

function callerText(caller: Caller): string {
  if (caller.kind === 'anonymous') return 'an anonymous caller'
  const who = caller.kind === 'user' ? `user ${caller.user.name} of account` : 'account'
  const key = caller.accessKey === '' ? '' : ` (key ${caller.accessKey})`
  return `${who} ${caller.account.accountId}${key}`
}

function placeText({ bucket, key, versionId }: ExplainedRequest): string {
  if (bucket === undefined) return 'the account'
  return bucket + (key === undefined ? '' : `/${key}`) + (versionId === undefined ? '' : `@${versionId}`)
}

const sinceText = (since: Since | undefined): string =>
  since === undefined ? '' : `, since ${since.time}, by ${since.by}`

function lockLines({ lock: facts, stoppedBy, mayBypass }: Explanation): string[] {
  if (facts === undefined) return []
  const { lock, now, heldSince, retainedSince } = facts
  const lines: string[] = []
  if (lock.hold === true) lines.push(`legal hold${sinceText(heldSince)}`)
  if (lock.retention !== undefined) {
    const { mode, until } = lock.retention
    const over = until <= now ? ' (expired)' : ''
    lines.push(`${mode} retention until ${formatTimestamp(until)}${over}${sinceText(retainedSince)}`)
  }
  if (lines.length === 0) lines.push('none')
  if (stoppedBy === 'governance') {
    const permission = mayBypass ? 'has that permission and must request the bypass' : 'does not have that permission'
    lines.push(`governance retention can be bypassed; the caller ${permission}`)
  }
  return lines.map(line => `  lock of ${facts.versionId}: ${line}`)
}

const VERDICTS = { allowed: 'allowed', refused: 'refused', depends: 'depends on condition values of the request' }
const BECAUSE = { access: '', lock: ' by a lock', missing: ', since there is no such object' }

/** For a person at a terminal. */
export function explanationText(explanation: Explanation): string {
  const { request, verdict, because, access, dependsOn, isMissing, notes } = explanation
  const title = `${actionNames(request.action)[0]} on ${placeText(request)} as ${callerText(request.as)}`
  const what = isMissing ? 'to learn that there is no such object' : 'access'
  return [
    `${title}: ${VERDICTS[verdict]}${BECAUSE[because]}`,
    `  ${what}: ${access.allowed ? 'allowed' : 'refused'}`,
    ...access.reasons.map(reason => `    ${describeReason(reason)}`),
    ...(dependsOn.length === 0 ? [] : [`  depends on: ${dependsOn.join(', ')}`]),
    ...lockLines(explanation),
    ...notes.map(note => `  note: ${note}`),
  ].join('\n')
}

function callerJson(caller: Caller): object {
  if (caller.kind === 'anonymous') return { kind: 'anonymous' }
  const user = caller.kind === 'user' ? { user: caller.user.name } : {}
  return { kind: caller.kind, account: caller.account.accountId, ...user, accessKey: caller.accessKey }
}

/** For a program: plain JSON values only. */
export function explanationJson(explanation: Explanation): object {
  const { request, verdict, because, access, dependsOn, isMissing, lock: facts, stoppedBy, notes } = explanation
  const { as, action, bucket, key, versionId, bypass } = request
  const lock = facts && {
    versionId: facts.versionId,
    hold: facts.lock.hold === undefined ? null : facts.lock.hold ? 'ON' : 'OFF',
    heldSince: facts.heldSince ?? null,
    retention: facts.lock.retention && {
      mode: facts.lock.retention.mode,
      until: formatTimestamp(facts.lock.retention.until),
    },
    retainedSince: facts.retainedSince ?? null,
    stops: stoppedBy ?? null,
    mayBypass: explanation.mayBypass,
  }
  return {
    asked: { as: callerJson(as), action: actionNames(action)[0], bucket, key, versionId, bypass },
    verdict,
    because,
    access: {
      allowed: access.allowed,
      reasons: access.reasons.map(reason => ({ ...reason, text: describeReason(reason) })),
    },
    dependsOn,
    isMissing,
    lock: lock ?? null,
    notes,
  }
}

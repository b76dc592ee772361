/**
 * Answers "may this caller do that, and why?" with the facts and the evaluator that requests are authorized with.
 * Read-only.
 */
import type { Bucket } from '../model/bucket.ts'
import type { Caller } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { AccountLookup, ObjectName } from '../operations/context.ts'
import { absenceDependsOn, mayLearnAbsence } from '../rules/access/absence.ts'
import { ACTIONS, type Action, actionFacts } from '../rules/access/actions.ts'
import { BUCKET_TAG, type ConditionContext, REQUEST_KEYS, REQUEST_TAG } from '../rules/access/condition-keys.ts'
import { type AccessRequest, type AccessVerdict, evaluate, unansweredKeys } from '../rules/access/evaluate.ts'
import { foldCase } from '../rules/access/fold-case.ts'
import { neutralAction } from '../rules/access/names.ts'
import {
  type ExplainedPolicy,
  type ExplainedRequest,
  type Explanation,
  explanationOf,
  type LockFacts,
} from '../rules/explanation.ts'
import { type AccessFacts, bucketFacts } from './authorize.ts'

interface ExplainParts {
  readonly facts: AccessFacts
  readonly accounts: AccountLookup
  /** The lock of a version; undefined when there is no such version. */
  readonly lock: (name: ObjectName) => Promise<LockFacts | undefined>
  readonly now: number
}

export interface ExplainQuestion {
  readonly as: Caller
  /** `svc:DeleteObject`, `s3:DeleteObject` or the bare name. With a version, the action on versions. */
  readonly action: string
  readonly bucket?: string | undefined
  readonly key?: string | undefined
  readonly versionId?: string | undefined
  readonly bypass?: boolean | undefined
  /** Further condition values of the request, by neutral key. */
  readonly context?: ConditionContext | undefined
}

const BY_FOLDED: ReadonlyMap<string, Action> = new Map(Array.from(ACTIONS.keys(), action => [foldCase(action), action]))

const bad = (name: string, value: string, reason: string): Fault =>
  new Fault('InvalidArgument', { ArgumentName: name, ArgumentValue: value, reason })

function actionOf(text: string, versionId: string | undefined): Action {
  const action = BY_FOLDED.get(neutralAction(text.includes(':') ? text : `svc:${text}`) ?? '')
  if (action === undefined) throw bad('action', text, 'There is no such action')
  if (versionId === undefined || action.includes('Version')) return action
  return BY_FOLDED.get(foldCase(action.replace('Object', 'ObjectVersion'))) ?? action
}

function explainedRequest({
  as,
  action: text,
  bucket,
  key,
  versionId,
  bypass = false,
}: ExplainQuestion): ExplainedRequest {
  const action = actionOf(text, versionId)
  const { on } = actionFacts(action)
  if (on !== 'service' && bucket === undefined) throw bad('bucket', '', 'This action is about a bucket')
  if (on === 'object' && (key === undefined || key === '')) throw bad('key', '', 'This action is about an object')
  const keepHeld = !foldCase(text).startsWith('s3:')
  return { as, action, bucket, key: on === 'object' ? key : undefined, versionId, bypass, keepHeld }
}

const LOCKS_MATTER: readonly Action[] = ['DeleteObject', 'DeleteObjectVersion', 'PutObjectRetention']

/** Decisions about one question: with the given values, and with the best and worst case of the values left open. */
function judged(
  request: AccessRequest & { readonly context: ConditionContext },
  isMissing: boolean,
): { access: AccessVerdict; dependsOn: readonly string[] } {
  const decide = (of: AccessRequest): AccessVerdict => (isMissing ? mayLearnAbsence(of) : evaluate(of))
  const keys = [...REQUEST_KEYS.filter(key => !request.context.has(key)), REQUEST_TAG, BUCKET_TAG]
  const best = decide({ ...request, deferred: { keys, assume: 'allow' } })
  const worst = decide({ ...request, deferred: { keys, assume: 'deny' } })
  if (best.allowed === worst.allowed) return { access: best.allowed ? worst : best, dependsOn: [] }
  return { access: decide(request), dependsOn: (isMissing ? absenceDependsOn : unansweredKeys)(request, keys) }
}

export class Explainer {
  readonly #parts: ExplainParts

  constructor(parts: ExplainParts) {
    this.#parts = parts
  }

  async explain(question: ExplainQuestion): Promise<Explanation> {
    const { facts, accounts } = this.#parts
    const explained = explainedRequest(question)
    const { action, bucket: name, key, versionId } = explained
    const { on, authorizedBy } = actionFacts(action)
    const bucket = name === undefined || action === 'CreateBucket' ? undefined : await facts.bucket(name)
    const policy = bucket?.documents.includes('policy') ? await facts.document(bucket.name, 'policy') : undefined
    const object = { bucket: name ?? '', key: key ?? '', versionId }
    const isStored = on === 'object' && authorizedBy === 'object'
    const request = {
      caller: explained.as,
      action,
      resource: on === 'service' ? {} : key === undefined ? { bucket: object.bucket } : { bucket: object.bucket, key },
      bucket: bucket === undefined ? undefined : bucketFacts(bucket, policy, accounts),
      object: isStored ? await facts.object(object) : undefined,
      context: this.#context(question, versionId),
    }
    const isMissing = isStored && request.object === undefined
    return explanationOf(explained, {
      ...judged(request, isMissing),
      isMissing,
      lock: LOCKS_MATTER.includes(action) && bucket?.lockEnabled === true ? await this.#parts.lock(object) : undefined,
      mayBypass: on === 'object' && evaluate({ ...request, action: 'BypassGovernanceRetention' }).allowed,
      notes: notesOf(explained, bucket),
      policies: policiesOf(explained.as, policy),
    })
  }

  #context({ context = new Map() }: ExplainQuestion, versionId: string | undefined): ConditionContext {
    const given = Date.parse(context.get('currenttime')?.[0] ?? '')
    const now = Number.isNaN(given) ? this.#parts.now : given
    return new Map([
      ['currenttime', [new Date(now).toISOString()]],
      ['epochtime', [String(Math.floor(now / 1000))]],
      ...(versionId === undefined ? [] : [['versionid', [versionId]] as const]),
      ...context,
    ])
  }
}

function policiesOf(as: Caller, bucketPolicy: string | undefined): ExplainedPolicy[] {
  const own = as.kind === 'user' ? as.user.policies : []
  return [
    ...own.map((document, number) => ({ policy: 'identity' as const, number, document })),
    ...(bucketPolicy === undefined ? [] : [{ policy: 'bucket' as const, number: 0, document: bucketPolicy }]),
  ]
}

/** Checks beyond access that such a request must pass. */
function notesOf({ as, action, versionId, keepHeld }: ExplainedRequest, bucket: Bucket | undefined): string[] {
  const notes: string[] = []
  if (bucket?.requesterPays === true) {
    const isOwner = as.kind !== 'anonymous' && as.account.canonicalId === bucket.owner
    if (as.kind === 'anonymous') notes.push('requesters pay here, so callers without a name are refused')
    else if (!isOwner) notes.push('requesters pay here: the request must say that it does')
  }
  if (action === 'DeleteObject' && versionId === undefined && bucket !== undefined && bucket.versioning !== 'off') {
    const held = keepHeld ? '; in this dialect not a held one' : ', also a held one'
    notes.push(`without a version, a marker hides the object${held}`)
  }
  if (action === 'PutObjectRetention' && bucket?.lockEnabled === true) {
    notes.push('retention in force can be lengthened; governance is shortened or lifted by bypass, compliance never')
  }
  return notes
}

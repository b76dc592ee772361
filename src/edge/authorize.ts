/** Collects the facts that a decision about access needs, and asks the one evaluator. */
import { andThen, type MaybePromise } from '../lib/maybe-promise.ts'
import type { Bucket } from '../model/bucket.ts'
import { callerName } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { AccountLookup } from '../operations/context.ts'
import type { ObjectName, RequiredPermission } from '../operations/operation.ts'
import { mayLearnAbsence } from '../rules/access/absence.ts'
import { type Action, actionFacts } from '../rules/access/actions.ts'
import {
  type AccessRequest,
  type AccessVerdict,
  type BucketFacts,
  evaluate,
  type ObjectFacts,
} from '../rules/access/evaluate.ts'
import { describeReason, refusalCode } from '../rules/access/reasons.ts'
import { type AccessQuestion, RequestConditions } from './access-question.ts'

/** Looks facts up; the composition hands it in, so that the edge knows no store. */
export interface AccessFacts {
  bucket(name: string): MaybePromise<Bucket>
  document(bucket: string, name: string): Promise<string | undefined>
  /** Undefined when there is no such object. */
  object(name: ObjectName): MaybePromise<ObjectFacts | undefined>
  /** Who began the upload; undefined when there is no such upload. */
  initiator(name: ObjectName, uploadId: string): Promise<string | undefined>
}

const NO_BLOCK = {
  blockPublicAcls: false,
  ignorePublicAcls: false,
  blockPublicPolicy: false,
  restrictPublicBuckets: false,
}

/** An object that is about to be made, and that the caller will own unless the bucket's mode decides otherwise. */
function newObject({ caller }: AccessQuestion): ObjectFacts | undefined {
  if (caller.kind === 'anonymous') return undefined
  return { ownerCanonicalId: caller.account.canonicalId, grants: [], tags: [] }
}

function isAboutMissing({ action, object }: AccessRequest): boolean {
  const { on, authorizedBy } = actionFacts(action)
  return on === 'object' && authorizedBy === 'object' && object === undefined
}

const REASONS_LOGGED_MAX = 3

/** For the log alone: callers are told that they may not, and an administrator may ask why. */
const whyNot = (action: Action, { reasons }: AccessVerdict): string =>
  `${action}: ${reasons.slice(0, REASONS_LOGGED_MAX).map(describeReason).join('; ')}`

function refusalOf({ request, operation }: AccessQuestion, action: Action, decision: AccessVerdict): Fault {
  const why = whyNot(action, decision)
  const code = refusalCode(decision.reasons)
  if (code === 'AccessDenied') return new Fault(code, { why })
  return new Fault(code, { Method: request.method, ResourceType: operation.match.on.toUpperCase(), why })
}

/** What was decided about one action, and why. */
export interface AccessDecision {
  readonly action: Action
  readonly on: ObjectName
  readonly decision: AccessVerdict
}

export class Authorizer {
  readonly #facts: AccessFacts
  readonly #accounts: AccountLookup
  readonly #judged: (judgement: AccessDecision) => void

  /** `judged` is told everything that is decided. */
  constructor(facts: AccessFacts, accounts: AccountLookup, judged: (judgement: AccessDecision) => void = () => {}) {
    this.#facts = facts
    this.#accounts = accounts
    this.#judged = judged
  }

  bucketFacts(bucket: Bucket): MaybePromise<BucketFacts> {
    const text = bucket.documents.includes('policy') ? this.#facts.document(bucket.name, 'policy') : undefined
    return andThen(text, policy => ({
      ownerAccountId: this.#accounts.byCanonicalId(bucket.owner)?.accountId ?? '',
      ownerCanonicalId: bucket.owner,
      policy,
      grants: bucket.grants,
      ownership: bucket.ownership ?? 'ObjectWriter',
      publicAccessBlock: bucket.publicAccessBlock ?? NO_BLOCK,
    }))
  }

  /** Every need must hold. What a body will say counts as being in the caller's favour until it has been read. */
  check(asking: AccessQuestion, needs: readonly RequiredPermission[], bucket: Bucket | undefined): MaybePromise<void> {
    return needs.length === 1 ? this.#checkOne(asking, needs[0]!, bucket) : this.#checkAll(asking, needs, bucket)
  }

  async #checkAll(
    asking: AccessQuestion,
    needs: readonly RequiredPermission[],
    bucket: Bucket | undefined,
  ): Promise<void> {
    for (const need of needs) await this.#checkOne(asking, need, bucket)
  }

  #checkOne(asking: AccessQuestion, need: RequiredPermission, bucket: Bucket | undefined): MaybePromise<void> {
    return andThen(this.#requestFor(asking, need, bucket), request => {
      const isMissing = need.forNewObjectOf === undefined && isAboutMissing(request)
      // That there is nothing to read is told only to those who could have listed it, whatever else they may do.
      const decision = isMissing ? mayLearnAbsence(request) : evaluate(request)
      this.#judged({ action: need.action, on: need.on ?? asking.target, decision })
      if (!decision.allowed) throw refusalOf(asking, need.action, decision)
    })
  }

  async may(asking: AccessQuestion, need: RequiredPermission, bucket: Bucket | undefined): Promise<boolean> {
    const decision = evaluate(await this.#requestFor(asking, need, bucket))
    this.#judged({ action: need.action, on: need.on ?? asking.target, decision })
    return decision.allowed
  }

  /** R99. Whoever began an upload may look at its parts and give it up. */
  async #isInitiator({ view, caller }: AccessQuestion, name: ObjectName): Promise<boolean> {
    const uploadId = view.query('uploadId')
    if (uploadId === undefined || caller.kind === 'anonymous') return false
    return (await this.#facts.initiator(name, uploadId)) === callerName(caller)
  }

  #requestFor(
    asking: AccessQuestion,
    need: RequiredPermission,
    bucket: Bucket | undefined,
  ): MaybePromise<AccessRequest> {
    const name = need.on ?? asking.target
    const isHere = need.on === undefined || need.on.bucket === bucket?.name
    const { on, authorizedBy } = actionFacts(need.action)
    const isStored = need.forNewObjectOf === undefined && on === 'object' && authorizedBy === 'object'
    const mayInitiate = on === 'object' && asking.operation.ofUpload
    return andThen(isHere ? bucket : this.#facts.bucket(name.bucket), at =>
      andThen(at === undefined ? undefined : this.bucketFacts(at), facts =>
        andThen(isStored ? this.#facts.object(name) : undefined, stored =>
          andThen(mayInitiate && this.#isInitiator(asking, name), isInitiator => ({
            caller: asking.caller,
            action: need.action,
            resource:
              on === 'service'
                ? {}
                : on === 'bucket'
                  ? { bucket: name.bucket }
                  : { bucket: name.bucket, key: name.key },
            bucket: facts,
            object: need.forNewObjectOf === 'writer' ? newObject(asking) : stored,
            context: new RequestConditions(asking, name),
            untold: asking.deferred,
            isInitiator,
            ofNewObject: need.forNewObjectOf === 'writer',
            anonymousNeedsPolicy: asking.operation.anonymousNeedsPolicy,
          })),
        ),
      ),
    )
  }
}

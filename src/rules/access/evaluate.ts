/**
 * G7. The one place that decides whether a caller may do something, and says why. It knows no dialect, no clock and no
 * store: whoever asks hands in the facts. The order of its steps is that of the requirements (G7).
 */
import type { Account, Caller } from '../../model/caller.ts'
import { Fault } from '../../model/faults.ts'
import type { Grant, Pairs } from '../../model/version.ts'
import { effectiveAcl, isPublicGrant, type ObjectOwnership, permissionFor } from './acl.ts'
import { type Action, actionFacts, changesBucket } from './actions.ts'
import { type ConditionContext, EXISTING_TAG } from './condition-keys.ts'
import { isPublicPolicy } from './is-public.ts'
import { accountArn, neutralConditionValue, userArn } from './names.ts'
import type { Policy } from './policy.ts'
import { bucketPolicy, identityPolicy } from './policy-cache.ts'
import { type Reason, refusalCode } from './reasons.ts'
import { applying, type DeferredKeys, isDeferred, NONE_DEFERRED, type Question } from './statements.ts'

export interface EffectiveBlock {
  readonly blockPublicAcls: boolean
  readonly ignorePublicAcls: boolean
  readonly blockPublicPolicy: boolean
  readonly restrictPublicBuckets: boolean
}

export interface BucketFacts {
  readonly ownerAccountId: string
  readonly ownerCanonicalId: string
  /** The text as it was given. */
  readonly policy: string | undefined
  readonly grants: readonly Grant[]
  readonly ownership: ObjectOwnership
  readonly publicAccessBlock: EffectiveBlock
}

export interface ObjectFacts {
  readonly ownerCanonicalId: string
  readonly grants: readonly Grant[]
  readonly tags: Pairs
}

export interface AccessRequest {
  readonly caller: Caller
  readonly action: Action
  /** Neither for what concerns the whole account, a bucket alone for what concerns the bucket. */
  readonly resource: { readonly bucket?: string; readonly key?: string }
  /** Undefined where there is none yet, or none at all. */
  readonly bucket: BucketFacts | undefined
  /** The stored object that the action is about; undefined where there is none, and for one that is being made. */
  readonly object: ObjectFacts | undefined
  /** What the request says, by neutral condition key. Gone through only when a policy asks. */
  readonly context: Iterable<readonly [key: string, values: readonly string[]]>
  /** What is not known yet about the request, and how that counts. */
  readonly untold?: DeferredKeys | undefined
  /** The caller began the upload that the action is about. */
  readonly isInitiator?: boolean
  /** The action is about an object that the request creates, and that its writer will own. */
  readonly ofNewObject?: boolean
  /** Lists do not give this to a caller without a name: beginning an upload, copying. */
  readonly anonymousNeedsPolicy?: boolean
}

export interface AccessVerdict {
  readonly allowed: boolean
  /** What decided, most important first. Never empty. */
  readonly reasons: readonly Reason[]
}

const POLICY_ACTIONS: readonly Action[] = ['GetBucketPolicy', 'PutBucketPolicy', 'DeleteBucketPolicy']
const UPLOAD_ACTIONS: readonly Action[] = ['AbortMultipartUpload', 'ListMultipartUploadParts']
const ACL_WRITES: readonly Action[] = ['PutObjectAcl', 'PutObjectVersionAcl']

/** What one side says: the reasons for which it allows, empty when it does not, and what held it back. */
interface Voice {
  readonly allows: readonly Reason[]
  readonly withheld: readonly Reason[]
}

const SILENT: Voice = { allows: [], withheld: [] }

export function evaluate(request: AccessRequest): AccessVerdict {
  let policies: Policies
  try {
    policies = policiesOf(request)
  } catch (error) {
    // It was accepted once, so this is damage. What it denied cannot be known, hence everything is denied.
    if (error instanceof Fault) return { allowed: false, reasons: [{ kind: 'unreadable policy' }] }
    throw error
  }
  const question = new Asked(request)
  const denials = denialsOf(request, policies, question)
  if (denials.length > 0) return { allowed: false, reasons: denials }
  return withoutDenial(request, policies, question)
}

export function authorize(request: AccessRequest): void {
  const { allowed, reasons } = evaluate(request)
  if (!allowed) throw new Fault(refusalCode(reasons))
}

/** Condition keys that statements about this request ask for, and that nobody has answered. */
export function unansweredKeys(
  request: AccessRequest,
  keys: readonly string[],
  effects: readonly ('Allow' | 'Deny')[] = ['Allow', 'Deny'],
): string[] {
  const untold: DeferredKeys = { keys, assume: 'holds' }
  const needed = needsWriting(request) ? [request, writingOf(request)] : [request]
  const { identity, bucket } = policiesOf(request)
  const policies = [...identity, ...(bucket === undefined ? [] : [bucket])]
  const found = needed.flatMap(one => {
    const question = new Asked({ ...one, untold })
    return policies.flatMap(policy => effects.flatMap(effect => applying(policy, effect, question)))
  })
  const asked = found.flatMap(({ statement }) => statement.conditions.map(({ key }) => key))
  return [...new Set(asked.filter(key => isDeferred(key, untold)))].sort()
}

interface Policies {
  readonly identity: readonly Policy[]
  readonly bucket: Policy | undefined
}

function policiesOf({ caller, bucket }: AccessRequest): Policies {
  return {
    identity: caller.kind === 'user' ? caller.user.policies.map(identityPolicy) : [],
    bucket: bucket?.policy === undefined ? undefined : bucketPolicy(bucket.policy),
  }
}

/** What is asked of policies. A class, so that all have one shape: a literal with a getter would get its own. */
class Asked implements Question {
  readonly caller: Caller
  readonly action: Action
  readonly resource: string
  readonly untold: DeferredKeys
  readonly #request: AccessRequest
  #context: ConditionContext | undefined

  constructor(request: AccessRequest) {
    const { key, bucket } = request.resource
    this.caller = request.caller
    this.action = request.action
    this.resource = key === undefined ? (bucket ?? '*') : `${bucket}/${key}`
    this.untold = request.untold ?? NONE_DEFERRED
    this.#request = request
  }

  /** Most requests meet no policy at all, and nobody asks for it. */
  get context(): ConditionContext {
    this.#context ??= wholeContext(this.#request)
    return this.#context
  }
}

/** What the request says, and what follows from the caller, the bucket and the object. */
function wholeContext({ caller, context, bucket, object }: AccessRequest): ConditionContext {
  const full = new Map<string, readonly string[]>()
  for (const [key, values] of context) {
    full.set(
      key,
      values.map(value => neutralConditionValue(key, value)),
    )
  }
  for (const [key, value] of derivedContext(caller, bucket)) {
    if (value === undefined) full.delete(key)
    else full.set(key, [value])
  }
  for (const key of full.keys()) if (key.startsWith(EXISTING_TAG)) full.delete(key)
  for (const [name, value] of object?.tags ?? []) full.set(EXISTING_TAG + name, [value])
  return full
}

function derivedContext(caller: Caller, bucket: BucketFacts | undefined): [string, string | undefined][] {
  const account = accountOf(caller)
  const name = caller.kind === 'user' ? caller.user.name : undefined
  const types = { anonymous: 'Anonymous', account: 'Account', user: 'User' }
  const id = account?.accountId
  return [
    ['principalaccount', id],
    ['principalarn', id === undefined ? undefined : name === undefined ? accountArn(id) : userArn(id, name)],
    ['principalisawsservice', id === undefined ? undefined : 'false'],
    ['principaltype', types[caller.kind]],
    ['resourceaccount', bucket?.ownerAccountId],
    ['userid', id === undefined ? 'anonymous' : name === undefined ? id : `${id}:${name}`],
    ['username', name],
    ['viaawsservice', 'false'],
  ]
}

const accountOf = (caller: Caller): Account | undefined => (caller.kind === 'anonymous' ? undefined : caller.account)

/** Step 1. The owner's account key always reaches the bucket's policy, or a slip in it could never be mended. */
function denialsOf({ caller, action, bucket }: AccessRequest, policies: Policies, question: Question): Reason[] {
  const reasons = identityReasons(policies, 'Deny', question)
  const isOwnersKey = caller.kind === 'account' && caller.account.accountId === bucket?.ownerAccountId
  if (policies.bucket === undefined || (isOwnersKey && POLICY_ACTIONS.includes(action))) return reasons
  return [...reasons, ...bucketReasons(policies.bucket, 'Deny', question)]
}

function identityReasons(policies: Policies, effect: 'Allow' | 'Deny', question: Question): Reason[] {
  if (policies.identity.length === 0) return []
  return policies.identity.flatMap((policy, number) =>
    applying(policy, effect, question).map(
      ({ statement, index }): Reason => ({
        kind: 'statement',
        policy: 'identity',
        number,
        index,
        sid: statement.sid,
        effect,
      }),
    ),
  )
}

function bucketReasons(policy: Policy, effect: 'Allow' | 'Deny', question: Question, reach?: 'caller'): Reason[] {
  return applying(policy, effect, question)
    .filter(found => reach === undefined || found.reach === reach)
    .map(({ statement, index }) => ({
      kind: 'statement',
      policy: 'bucket',
      number: 0,
      index,
      sid: statement.sid,
      effect,
    }))
}

/** Steps 2 to 8. */
function withoutDenial(request: AccessRequest, policies: Policies, question: Question): AccessVerdict {
  const { caller, bucket, action } = request
  const account = accountOf(caller)
  if (account !== undefined && request.isInitiator === true && UPLOAD_ACTIONS.includes(action)) {
    return { allowed: true, reasons: [{ kind: 'ownership', rule: 'initiator of the upload' }] }
  }
  const identity = identityVoice(caller, policies, question)
  const policy = bucket === undefined ? SILENT : policyVoice(request, bucket, policies, question)
  if (isOwner(request)) {
    const decision = decide(identity.allows, policy.allows, {
      withheld: policy.withheld,
      rule: 'resource owner',
      side: 'either',
    })
    return decision.allowed && needsWriting(request) ? andWriteObject(decision, request, policies) : decision
  }
  const decision = forOthers(request, identity, policy)
  if (!decision.allowed || bucket === undefined || !POLICY_ACTIONS.includes(action)) return decision
  return refused([{ kind: 'ownership', rule: 'policy of another account' }])
}

/** Steps 6 to 8. */
function forOthers(request: AccessRequest, identity: Voice, policy: Voice): AccessVerdict {
  const { caller, bucket } = request
  const acl = bucket === undefined ? SILENT : aclVoice(request, bucket)
  const granted = [...policy.allows, ...acl.allows]
  const withheld = [...policy.withheld, ...acl.withheld]
  if (caller.kind === 'anonymous') return decide([], granted, { withheld, rule: 'anonymous', side: 'resource' })
  // What concerns no existing bucket is the caller's own affair.
  if (bucket === undefined) {
    return decide(identity.allows, [], { withheld: [], rule: 'own account', side: 'identity' })
  }
  const lacking = lackingSide(identity.allows, granted)
  if (lacking !== undefined) return refused([{ kind: 'nothing allows', side: lacking }, ...withheld])
  return { allowed: true, reasons: [...granted, ...identity.allows] }
}

type Rule = Extract<Reason, { kind: 'ownership' }>['rule']

function lackingSide(
  identity: readonly Reason[],
  resource: readonly Reason[],
): 'identity' | 'resource' | 'both' | undefined {
  if (identity.length === 0) return resource.length === 0 ? 'both' : 'identity'
  return resource.length === 0 ? 'resource' : undefined
}

interface Case {
  readonly withheld: readonly Reason[]
  readonly rule: Rule
  /** Where a grant is missing when there is none. */
  readonly side: 'identity' | 'resource' | 'either'
}

function decide(one: readonly Reason[], other: readonly Reason[], { withheld, rule, side }: Case): AccessVerdict {
  const reasons = [...one, ...other]
  if (reasons.length === 0) return refused([{ kind: 'nothing allows', side }, ...withheld])
  return { allowed: true, reasons: [...reasons, { kind: 'ownership', rule }] }
}

const refused = (reasons: readonly Reason[]): AccessVerdict => ({ allowed: false, reasons })

/** Step 2. */
function identityVoice(caller: Caller, policies: Policies, question: Question): Voice {
  if (caller.kind === 'account') return { allows: [{ kind: 'account key' }], withheld: [] }
  return { allows: identityReasons(policies, 'Allow', question), withheld: [] }
}

/** Whose permission counts. Under BucketOwnerEnforced that is always the bucket owner's. */
function resourceOwner({ action, bucket, object }: AccessRequest): string | undefined {
  if (bucket === undefined) return undefined
  if (object === undefined || actionFacts(action).judgedBy === 'bucket') return bucket.ownerCanonicalId
  return effectiveAcl(object, bucket.ownership, bucket.ownerCanonicalId).ownerCanonicalId
}

/** Step 3. */
function policyVoice(request: AccessRequest, bucket: BucketFacts, policies: Policies, question: Question): Voice {
  if (policies.bucket === undefined) return SILENT
  const isDelegated = request.caller.kind !== 'user' || identityReasons(policies, 'Allow', question).length > 0
  const allows = bucketReasons(policies.bucket, 'Allow', question, isDelegated ? undefined : 'caller')
  if (allows.length === 0) return SILENT
  if (resourceOwner(request) !== bucket.ownerCanonicalId) {
    return { allows: [], withheld: [{ kind: 'ownership', rule: 'object of another owner' }] }
  }
  const { caller, action } = request
  if (caller.kind === 'anonymous' && changesBucket(action) && !POLICY_ACTIONS.includes(action)) {
    return { allows: [], withheld: [{ kind: 'ownership', rule: 'anonymous callers configure no bucket' }] }
  }
  const isOwnAccount = accountOf(caller)?.accountId === bucket.ownerAccountId
  if (bucket.publicAccessBlock.restrictPublicBuckets && !isOwnAccount && isPublicPolicy(policies.bucket)) {
    return { allows: [], withheld: [{ kind: 'block', block: 'RestrictPublicBuckets' }] }
  }
  return { allows, withheld: [] }
}

/** Step 4. */
function aclVoice(request: AccessRequest, bucket: BucketFacts): Voice {
  const { caller, object } = request
  // The right to create the object includes naming its ACL. Named writers own what they create and do not come here.
  const wanted = permissionFor(request.ofNewObject === true ? 'PutObject' : request.action)
  if (wanted === undefined || (caller.kind === 'anonymous' && request.anonymousNeedsPolicy === true)) return SILENT
  const listed = wanted.on === 'bucket' ? bucket : object
  if (listed === undefined) return SILENT
  const { grants } = effectiveAcl(listed, bucket.ownership, bucket.ownerCanonicalId)
  const allows: Reason[] = []
  const withheld: Reason[] = []
  for (const [index, grant] of grants.entries()) {
    if (grant.permission !== wanted.permission && grant.permission !== 'FULL_CONTROL') continue
    if (!reaches(grant, caller)) continue
    const isVoid = bucket.publicAccessBlock.ignorePublicAcls && isPublicGrant(grant)
    if (isVoid) withheld.push({ kind: 'block', block: 'IgnorePublicAcls' })
    else allows.push({ kind: 'grant', on: wanted.on, index, grant })
  }
  return { allows, withheld }
}

function reaches(grant: Grant, caller: Caller): boolean {
  const account = accountOf(caller)
  if (!grant.group) return account !== undefined && grant.grantee === account.canonicalId
  return grant.grantee === 'AllUsers' || (grant.grantee === 'AuthenticatedUsers' && account !== undefined)
}

function isOwner(request: AccessRequest): boolean {
  const account = accountOf(request.caller)
  return account !== undefined && account.canonicalId === resourceOwner(request)
}

/** R106. Who changes the ACL of an object of the own account must be allowed to write the object as well. */
const needsWriting = (request: AccessRequest): boolean => ACL_WRITES.includes(request.action) && isOwner(request)

const writingOf = (request: AccessRequest): AccessRequest => ({ ...request, action: 'PutObject' })

function andWriteObject(decision: AccessVerdict, request: AccessRequest, policies: Policies): AccessVerdict {
  const writing = writingOf(request)
  const question = new Asked(writing)
  const { bucket } = policies
  const isDenied = identityReasons(policies, 'Deny', question).length > 0
  const byIdentity = isDenied ? [] : identityVoice(request.caller, policies, question).allows
  const isBarred = bucket === undefined || bucketReasons(bucket, 'Deny', question).length > 0
  const byPolicy = isBarred ? [] : policyVoice(writing, request.bucket!, policies, question).allows
  if (byIdentity.length + byPolicy.length > 0) return decision
  return refused([{ kind: 'nothing allows', side: 'writing the object' }])
}

/**
 * G7. The one place that decides whether a caller is allowed an action, with the reasons. It depends on no dialect,
 * clock or store: the caller passes in all facts. The steps follow the order of the requirements (G7).
 */
import type { Account, Caller } from '../../model/caller.ts'
import { Fault } from '../../model/faults.ts'
import type { Grant, Pairs } from '../../model/version.ts'
import { effectiveAcl, effectiveOwner, isPublicGrant, type ObjectOwnership, permissionFor } from './acl.ts'
import { type Action, actionFacts, changesBucket } from './actions.ts'
import { type ConditionContext, EXISTING_TAG } from './condition-keys.ts'
import { isPublicPolicy } from './is-public.ts'
import { accountArn, neutralConditionValue, userArn } from './names.ts'
import { type Policy, readIdentityPolicy, readStoredBucketPolicy } from './policy.ts'
import { type Reason, refusalCode } from './reasons.ts'
import { applicableStatements, type DeferredKeys, isDeferred, NONE_DEFERRED, type PolicyQuery } from './statements.ts'

interface EffectiveBlock {
  readonly blockPublicAcls: boolean
  readonly ignorePublicAcls: boolean
  readonly blockPublicPolicy: boolean
  readonly restrictPublicBuckets: boolean
}

export interface BucketFacts {
  readonly ownerAccountId: string
  readonly ownerCanonicalId: string
  /** The document as stored. */
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
  /** Empty for actions on the account, a bucket without a key for actions on the bucket. */
  readonly resource: { readonly bucket?: string; readonly key?: string }
  /** Undefined when the bucket does not exist or the action has none. */
  readonly bucket: BucketFacts | undefined
  /** The stored object; undefined when there is none, or when the request creates it. */
  readonly object: ObjectFacts | undefined
  /** Condition values of the request by neutral key. Iterated only when a policy needs them. */
  readonly context: Iterable<readonly [key: string, values: readonly string[]]>
  /** Condition keys without a value yet, and what to assume about them. */
  readonly deferred?: DeferredKeys | undefined
  /** The caller initiated the upload. */
  readonly isInitiator?: boolean
  /** The action is on an object that the request creates and that its writer will own. */
  readonly ofNewObject?: boolean
  /** ACLs cannot grant this to an anonymous caller: initiating an upload, copying. */
  readonly anonymousNeedsPolicy?: boolean
  /** Parses the stored policies. A server passes one with a cache: parsing costs more than evaluating. */
  readonly policies?: PolicyParser
}

export interface PolicyParser {
  identity(text: string): Policy
  bucket(text: string): Policy
}

const UNCACHED: PolicyParser = { identity: readIdentityPolicy, bucket: readStoredBucketPolicy }

export interface AccessVerdict {
  readonly allowed: boolean
  /** The decisive reasons, most important first. Never empty. */
  readonly reasons: readonly Reason[]
}

const POLICY_ACTIONS: readonly Action[] = ['GetBucketPolicy', 'PutBucketPolicy', 'DeleteBucketPolicy']
const UPLOAD_ACTIONS: readonly Action[] = ['AbortMultipartUpload', 'ListMultipartUploadParts']
const ACL_WRITES: readonly Action[] = ['PutObjectAcl', 'PutObjectVersionAcl']

/** The grants of one side: the reasons for which it allows, and the grants that a rule withheld. */
interface SideGrants {
  readonly allows: readonly Reason[]
  readonly withheld: readonly Reason[]
}

const NO_GRANTS: SideGrants = { allows: [], withheld: [] }

export function evaluate(request: AccessRequest): AccessVerdict {
  let policies: Policies
  try {
    policies = policiesOf(request)
  } catch (error) {
    // A stored policy was valid once, so it is damaged. Its denials are unknown, hence everything is denied.
    if (error instanceof Fault) return { allowed: false, reasons: [{ kind: 'unreadable policy' }] }
    throw error
  }
  const question = new LazyPolicyQuery(request)
  const denials = denialsOf(request, policies, question)
  if (denials.length > 0) return { allowed: false, reasons: denials }
  return evaluateGrants(request, policies, question)
}

export function authorize(request: AccessRequest): void {
  const { allowed, reasons } = evaluate(request)
  if (!allowed) throw new Fault(refusalCode(reasons))
}

/** Condition keys among `keys` that statements matching this request use. */
export function unansweredKeys(
  request: AccessRequest,
  keys: readonly string[],
  effects: readonly ('Allow' | 'Deny')[] = ['Allow', 'Deny'],
): string[] {
  const deferred: DeferredKeys = { keys, assume: 'match' }
  const needed = needsPutObject(request) ? [request, asPutObject(request)] : [request]
  const { identity, bucket } = policiesOf(request)
  const policies = [...identity, ...(bucket === undefined ? [] : [bucket])]
  const found = needed.flatMap(one => {
    const question = new LazyPolicyQuery({ ...one, deferred })
    return policies.flatMap(policy => effects.flatMap(effect => applicableStatements(policy, effect, question)))
  })
  const tested = found.flatMap(({ statement }) => statement.conditions.map(({ key }) => key))
  return [...new Set(tested.filter(key => isDeferred(key, deferred)))].sort()
}

interface Policies {
  readonly identity: readonly Policy[]
  readonly bucket: Policy | undefined
}

function policiesOf({ caller, bucket, policies = UNCACHED }: AccessRequest): Policies {
  return {
    identity: caller.kind === 'user' ? caller.user.policies.map(text => policies.identity(text)) : [],
    bucket: bucket?.policy === undefined ? undefined : policies.bucket(bucket.policy),
  }
}

/**
 * Builds its context on first use, since most requests meet no policy. A class, so that all questions share a shape.
 */
class LazyPolicyQuery implements PolicyQuery {
  readonly caller: Caller
  readonly action: Action
  readonly resource: string
  readonly deferred: DeferredKeys
  readonly #request: AccessRequest
  #context: ConditionContext | undefined

  constructor(request: AccessRequest) {
    const { key, bucket } = request.resource
    this.caller = request.caller
    this.action = request.action
    this.resource = key === undefined ? (bucket ?? '*') : `${bucket}/${key}`
    this.deferred = request.deferred ?? NONE_DEFERRED
    this.#request = request
  }

  get context(): ConditionContext {
    this.#context ??= buildContext(this.#request)
    return this.#context
  }
}

/** The request's condition values, overridden by those derived from the caller, the bucket and the object. */
function buildContext({ caller, context, bucket, object }: AccessRequest): ConditionContext {
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

/** Step 1. The owner's account key can always change the bucket policy, or a mistake in it could never be undone. */
function denialsOf({ caller, action, bucket }: AccessRequest, policies: Policies, question: PolicyQuery): Reason[] {
  const reasons = identityReasons(policies, 'Deny', question)
  const isOwnersKey = caller.kind === 'account' && caller.account.accountId === bucket?.ownerAccountId
  if (policies.bucket === undefined || (isOwnersKey && POLICY_ACTIONS.includes(action))) return reasons
  return [...reasons, ...bucketReasons(policies.bucket, 'Deny', question)]
}

function identityReasons(policies: Policies, effect: 'Allow' | 'Deny', question: PolicyQuery): Reason[] {
  if (policies.identity.length === 0) return []
  return policies.identity.flatMap((policy, number) =>
    applicableStatements(policy, effect, question).map(
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

function bucketReasons(policy: Policy, effect: 'Allow' | 'Deny', question: PolicyQuery, reach?: 'caller'): Reason[] {
  return applicableStatements(policy, effect, question)
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
function evaluateGrants(request: AccessRequest, policies: Policies, question: PolicyQuery): AccessVerdict {
  const { caller, bucket, action } = request
  const account = accountOf(caller)
  if (account !== undefined && request.isInitiator === true && UPLOAD_ACTIONS.includes(action)) {
    return { allowed: true, reasons: [{ kind: 'ownership', rule: 'initiator of the upload' }] }
  }
  const identity = identityGrants(caller, policies, question)
  const policy = bucket === undefined ? NO_GRANTS : bucketPolicyGrants(request, bucket, policies, question)
  if (isOwner(request)) {
    const decision = decide(identity.allows, policy.allows, {
      withheld: policy.withheld,
      rule: 'resource owner',
      side: 'either',
    })
    return decision.allowed && needsPutObject(request) ? requirePutObject(decision, request, policies) : decision
  }
  const decision = evaluateNonOwner(request, identity, policy)
  if (!decision.allowed || bucket === undefined || !POLICY_ACTIONS.includes(action)) return decision
  return refused([{ kind: 'ownership', rule: 'policy of another account' }])
}

/** Steps 6 to 8. */
function evaluateNonOwner(request: AccessRequest, identity: SideGrants, policy: SideGrants): AccessVerdict {
  const { caller, bucket } = request
  const acl = bucket === undefined ? NO_GRANTS : aclGrants(request, bucket)
  const granted = [...policy.allows, ...acl.allows]
  const withheld = [...policy.withheld, ...acl.withheld]
  if (caller.kind === 'anonymous') return decide([], granted, { withheld, rule: 'anonymous', side: 'resource' })
  // An action on no existing bucket concerns the caller's own account only.
  if (bucket === undefined) {
    return decide(identity.allows, [], { withheld: [], rule: 'own account', side: 'identity' })
  }
  const lacking = missingSide(identity.allows, granted)
  if (lacking !== undefined) return refused([{ kind: 'nothing allows', side: lacking }, ...withheld])
  return { allowed: true, reasons: [...granted, ...identity.allows] }
}

type Rule = Extract<Reason, { kind: 'ownership' }>['rule']

function missingSide(
  identity: readonly Reason[],
  resource: readonly Reason[],
): 'identity' | 'resource' | 'both' | undefined {
  if (identity.length === 0) return resource.length === 0 ? 'both' : 'identity'
  return resource.length === 0 ? 'resource' : undefined
}

interface DecisionInput {
  readonly withheld: readonly Reason[]
  readonly rule: Rule
  /** The side to name when there is no grant. */
  readonly side: 'identity' | 'resource' | 'either'
}

function decide(
  one: readonly Reason[],
  other: readonly Reason[],
  { withheld, rule, side }: DecisionInput,
): AccessVerdict {
  const reasons = [...one, ...other]
  if (reasons.length === 0) return refused([{ kind: 'nothing allows', side }, ...withheld])
  return { allowed: true, reasons: [...reasons, { kind: 'ownership', rule }] }
}

const refused = (reasons: readonly Reason[]): AccessVerdict => ({ allowed: false, reasons })

/** Step 2. */
function identityGrants(caller: Caller, policies: Policies, question: PolicyQuery): SideGrants {
  if (caller.kind === 'account') return { allows: [{ kind: 'account key' }], withheld: [] }
  return { allows: identityReasons(policies, 'Allow', question), withheld: [] }
}

/** The owner whose permission counts. */
function resourceOwner({ action, bucket, object }: AccessRequest): string | undefined {
  if (bucket === undefined) return undefined
  if (object === undefined || actionFacts(action).authorizedBy === 'bucket') return bucket.ownerCanonicalId
  return effectiveOwner(object.ownerCanonicalId, bucket.ownership, bucket.ownerCanonicalId)
}

/** Step 3. */
function bucketPolicyGrants(
  request: AccessRequest,
  bucket: BucketFacts,
  policies: Policies,
  question: PolicyQuery,
): SideGrants {
  if (policies.bucket === undefined) return NO_GRANTS
  const isDelegated = request.caller.kind !== 'user' || identityReasons(policies, 'Allow', question).length > 0
  const allows = bucketReasons(policies.bucket, 'Allow', question, isDelegated ? undefined : 'caller')
  if (allows.length === 0) return NO_GRANTS
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
function aclGrants(request: AccessRequest, bucket: BucketFacts): SideGrants {
  const { caller, object } = request
  // Permission to create an object includes setting its ACL. Named writers own what they create and never get here.
  const wanted = permissionFor(request.ofNewObject === true ? 'PutObject' : request.action)
  if (wanted === undefined || (caller.kind === 'anonymous' && request.anonymousNeedsPolicy === true)) return NO_GRANTS
  const resource = wanted.on === 'bucket' ? bucket : object
  if (resource === undefined) return NO_GRANTS
  const { grants } = effectiveAcl(resource, bucket.ownership, bucket.ownerCanonicalId)
  const allows: Reason[] = []
  const withheld: Reason[] = []
  for (const [index, grant] of grants.entries()) {
    if (grant.permission !== wanted.permission && grant.permission !== 'FULL_CONTROL') continue
    if (!reaches(grant, caller)) continue
    const isIgnored = bucket.publicAccessBlock.ignorePublicAcls && isPublicGrant(grant)
    if (isIgnored) withheld.push({ kind: 'block', block: 'IgnorePublicAcls' })
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

/** R106. Changing the ACL of an object in the caller's own account also requires permission to write the object. */
const needsPutObject = (request: AccessRequest): boolean => ACL_WRITES.includes(request.action) && isOwner(request)

const asPutObject = (request: AccessRequest): AccessRequest => ({ ...request, action: 'PutObject' })

function requirePutObject(decision: AccessVerdict, request: AccessRequest, policies: Policies): AccessVerdict {
  const writing = asPutObject(request)
  const question = new LazyPolicyQuery(writing)
  const { bucket } = policies
  const denials = identityReasons(policies, 'Deny', question)
  if (denials.length > 0) return refused([...denials, { kind: 'nothing allows', side: 'writing the object' }])
  const byIdentity = identityGrants(request.caller, policies, question).allows
  const hasNoGrant = bucket === undefined || bucketReasons(bucket, 'Deny', question).length > 0
  const byPolicy = hasNoGrant ? [] : bucketPolicyGrants(writing, request.bucket!, policies, question).allows
  if (byIdentity.length + byPolicy.length > 0) return decision
  return refused([{ kind: 'nothing allows', side: 'writing the object' }])
}

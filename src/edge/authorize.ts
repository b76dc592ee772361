/** Collects the facts that an access decision needs, and asks the evaluator. */
import { dateHeader } from '../auth/signing.ts'
import { headerValues } from '../http/raw-request.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { TimeSlices } from '../lib/time-slices.ts'
import type { Bucket } from '../model/bucket.ts'
import { callerName } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { Pairs } from '../model/version.ts'
import type { AccountLookup, ObjectName } from '../operations/context.ts'
import type { Operation, RequiredPermission } from '../operations/operation.ts'
import { mayLearnAbsence } from '../rules/access/absence.ts'
import { type Action, actionFacts } from '../rules/access/actions.ts'
import { type ConditionValues, conditionsFromDate, conditionsFromTags } from '../rules/access/condition-values.ts'
import {
  type AccessRequest,
  type AccessVerdict,
  type BucketFacts,
  evaluate,
  type ObjectFacts,
  type PolicyParser,
} from '../rules/access/evaluate.ts'
import { describeReason, refusalCode } from '../rules/access/reasons.ts'
import { isDeferred } from '../rules/access/statements.ts'
import { parseCopySource } from '../rules/copy-source.ts'
import { parseTimestamp } from '../rules/http-date.ts'
import { parseTagHeader } from '../rules/tags.ts'
import type { Exchange } from './exchange.ts'
import type { RequestState } from './request-state.ts'
import type { DecodedRequest } from './wire-form.ts'

/** Headers that supply the condition key of the same name. */
const FROM_HEADERS = [
  'acl',
  'content-sha256',
  'grant-full-control',
  'grant-read',
  'grant-read-acp',
  'grant-write',
  'grant-write-acp',
  'object-ownership',
  'server-side-encryption',
  'server-side-encryption-customer-algorithm',
  'server-side-encryption-kms-key-id',
  'storage-class',
  'website-redirect-location',
] as const

/** The source in canonical form, so that a leading slash or an escape cannot evade a condition. */
function copySource(request: DecodedRequest): string | undefined {
  const sent = request.header(':copy-source')
  const source = sent === undefined ? undefined : parseCopySource(sent)
  return source === undefined ? sent : `${source.bucket}/${source.key}`
}

const isCopy = ({ match }: Operation): boolean => match.requires?.includes(':copy-source') === true

/** Tags that this request gives the new object. Decoding refuses a malformed header later. */
function tags(request: DecodedRequest, operation: Operation): Pairs {
  const sent = request.header(':tagging')
  const isIgnored = isCopy(operation) && request.header(':tagging-directive') !== 'REPLACE'
  if (sent === undefined || isIgnored) return []
  try {
    return parseTagHeader(sent)
  } catch (error) {
    if (error instanceof Fault) return []
    throw error
  }
}

function lock(request: DecodedRequest, now: number): ConditionValues {
  const date = request.header(':object-lock-retain-until-date')
  const until = date === undefined ? undefined : parseTimestamp(date)
  const words = (['object-lock-mode', 'object-lock-legal-hold'] as const).flatMap(key => {
    const sent = request.header(`:${key}`)
    return sent === undefined ? [] : [[key, [sent]] as const]
  })
  return [...words, ...(until === undefined ? [] : conditionsFromDate(until, now))]
}

/** Tags and lock in the headers; none where the operation does not store them, or callers could invent values. */
function tagsAndLock({ request, operation }: RequestState, now: number): ConditionValues {
  if (operation?.storesTagsAndLock !== true) return []
  return [...conditionsFromTags(tags(request, operation)), ...lock(request, now)]
}

/** The signed time. With a signature in the query, the date header is not the signed time. */
function signingTime({ request, dialect }: RequestState, isInQuery: boolean): number | undefined {
  const sent = isInQuery
    ? request.query(`${dialect.scheme.queryPrefix}Date`)
    : (request.header(':date') ?? request.header('date'))
  return sent === undefined ? undefined : dateHeader(sent)?.ms
}

/** How the caller signed; empty for an unsigned request. */
function signature({ request }: Exchange, state: RequestState, now: number): ConditionValues {
  const { signatureVersion, operation } = state
  if (signatureVersion === undefined) return []
  const isForm = operation?.takesForm === true
  const isInHeader = headerValues(request, 'authorization').length > 0
  const type = isForm ? 'POST' : isInHeader ? 'REST-HEADER' : 'REST-QUERY-STRING'
  const signedAt = signingTime(state, !isInHeader && !isForm)
  return [
    ...(signedAt === undefined ? [] : [['signatureage', [String(now - signedAt)]] as const]),
    ['authtype', [type]],
    ['signatureversion', [signatureVersion]],
  ]
}

/** Values that do not come from the request itself. */
interface ConditionSources {
  readonly now: number
  /** This server's region. */
  readonly region: string
  /** Values from the request's body, once it has been read. */
  readonly bodyConditions: ConditionValues
}

/** Condition values, computed on demand: most requests meet no policy. */
class RequestConditions implements Iterable<readonly [string, readonly string[]]> {
  readonly #exchange: Exchange
  readonly #state: RequestState
  readonly #name: ObjectName
  readonly #sources: ConditionSources

  constructor(exchange: Exchange, state: RequestState, name: ObjectName, sources: ConditionSources) {
    this.#exchange = exchange
    this.#state = state
    this.#name = name
    this.#sources = sources
  }

  [Symbol.iterator](): Iterator<readonly [string, readonly string[]]> {
    return this.#values().entries()
  }

  #values(): Map<string, readonly string[]> {
    const [{ remoteAddress, secure, tls }, { request, operation }] = [this.#exchange, this.#state]
    const { now, region, bodyConditions } = this.#sources
    const values = new Map<string, readonly string[]>()
    const set = (key: string, value: string | undefined): void => {
      if (value !== undefined) values.set(key, [value])
    }
    for (const key of FROM_HEADERS) set(key, request.header(`:${key}`))
    for (const [key, value] of tagsAndLock(this.#state, now)) values.set(key, value)
    for (const key of ['prefix', 'delimiter']) set(key, request.query(key))
    // Listings take an empty number for none.
    set('max-keys', request.query('max-keys') || undefined)
    if (operation !== undefined && isCopy(operation)) {
      set('copy-source', copySource(request))
      set('metadata-directive', request.header(':metadata-directive'))
    }
    set('versionid', this.#name.versionId)
    set('referer', request.header('referer'))
    set('useragent', request.header('user-agent'))
    set('if-match', request.header('if-match'))
    set('if-none-match', request.header('if-none-match'))
    set('sourceip', remoteAddress.replace(/^::ffff:/, ''))
    set('securetransport', String(secure))
    set('tlsversion', tls?.version)
    set('requestedregion', region)
    const createsObject = operation?.createsObject
    set('objectcreationoperation', createsObject === undefined ? undefined : String(createsObject))
    set('currenttime', new Date(now).toISOString())
    set('epochtime', String(Math.floor(now / 1000)))
    // Keys that the body decides come from the body alone, also where it gives no value.
    const ofBody = { keys: operation?.deferredKeys ?? [] }
    for (const key of values.keys()) if (isDeferred(key, ofBody)) values.delete(key)
    const composed = [...signature(this.#exchange, this.#state, now), ...bodyConditions]
    for (const [key, value] of composed) values.set(key, value)
    return values
  }
}

/** The values of a request about its own target. */
export const conditionsOf = (exchange: Exchange, state: RequestState, sources: ConditionSources): RequestConditions =>
  new RequestConditions(exchange, state, state.target, sources)

/** Reads the facts; injected, so that the edge does not depend on the store. */
export interface AccessFacts {
  bucket(name: string): MaybePromise<Bucket>
  document(bucket: string, name: string): Promise<string | undefined>
  /** Undefined when there is no such object. */
  object(name: ObjectName): MaybePromise<ObjectFacts | undefined>
  /** The initiator of the upload; undefined when there is no such upload. */
  initiator(name: ObjectName, uploadId: string): Promise<string | undefined>
}

const NO_BLOCK = {
  blockPublicAcls: false,
  ignorePublicAcls: false,
  blockPublicPolicy: false,
  restrictPublicBuckets: false,
}

/** The facts about a bucket that the evaluator needs. */
export function bucketFacts(bucket: Bucket, policy: string | undefined, accounts: AccountLookup): BucketFacts {
  return {
    ownerAccountId: accounts.byCanonicalId(bucket.owner)?.accountId ?? '',
    ownerCanonicalId: bucket.owner,
    policy,
    grants: bucket.grants,
    ownership: bucket.ownership ?? 'ObjectWriter',
    publicAccessBlock: bucket.publicAccessBlock ?? NO_BLOCK,
  }
}

function isAboutMissing({ action, object }: AccessRequest): boolean {
  const { on, authorizedBy } = actionFacts(action)
  return on === 'object' && authorizedBy === 'object' && object === undefined
}

const REASONS_LOGGED_MAX = 3

/** For the log alone: callers learn only that access was denied. */
const refusalReason = (action: Action, { reasons }: AccessVerdict): string =>
  `${action}: ${reasons.slice(0, REASONS_LOGGED_MAX).map(describeReason).join('; ')}`

/** Inputs of authorization beside the request. */
interface AuthorizationContext {
  readonly facts: AccessFacts
  readonly accounts: AccountLookup
  readonly now: number
  /** This server's region. */
  readonly region: string
  readonly policies: PolicyParser
}

/** Authorizes one request. Every decision becomes an audit finding of its state. */
export class Authorizer {
  readonly #exchange: Exchange
  readonly #state: RequestState
  readonly #context: AuthorizationContext
  #slices: TimeSlices | undefined

  constructor(exchange: Exchange, state: RequestState, context: AuthorizationContext) {
    this.#exchange = exchange
    this.#state = state
    this.#context = context
  }

  /**
   * Every required permission must hold. Without `bodyConditions` the body has not been read, and its condition keys
   * count in the caller's favour.
   */
  async check(required: readonly RequiredPermission[], bodyConditions?: ConditionValues): Promise<void> {
    for (const permission of required) {
      const request = await this.#requestFor(permission, bodyConditions)
      const isMissing = permission.forNewObjectOf === undefined && isAboutMissing(request)
      // Only callers who may list the bucket learn that an object does not exist, whatever else they may do.
      const decision = isMissing ? mayLearnAbsence(request) : evaluate(request)
      this.#record(permission, decision)
      if (!decision.allowed) throw this.#refusal(permission.action, decision)
    }
  }

  async isAllowed(permission: RequiredPermission, bodyConditions: ConditionValues): Promise<boolean> {
    const request = await this.#requestFor(permission, bodyConditions)
    // A batch asks for each of a thousand keys, and every policy may take milliseconds.
    this.#slices ??= new TimeSlices()
    const decision = await this.#slices.run(() => evaluate(request))
    this.#record(permission, decision)
    return decision.allowed
  }

  #record({ action, on = this.#state.target }: RequiredPermission, decision: AccessVerdict): void {
    this.#state.auditFindings.push({ action, on, decision })
  }

  #refusal(action: Action, decision: AccessVerdict): Fault {
    const why = refusalReason(action, decision)
    const code = refusalCode(decision.reasons)
    if (code === 'AccessDenied') return new Fault(code, { why })
    const level = this.#state.operation?.match.on.toUpperCase()
    return new Fault(code, { Method: this.#exchange.request.method, ResourceType: level, why })
  }

  /** R99. The initiator of an upload may list its parts and abort it. */
  async #isInitiator(name: ObjectName): Promise<boolean> {
    const { request, caller } = this.#state
    const uploadId = request.query('uploadId')
    if (uploadId === undefined || caller === undefined || caller.kind === 'anonymous') return false
    return (await this.#context.facts.initiator(name, uploadId)) === callerName(caller)
  }

  /** The object to be created. Its writer will own it, unless the ownership mode of the bucket decides otherwise. */
  #newObject(): ObjectFacts | undefined {
    const { caller } = this.#state
    if (caller === undefined || caller.kind === 'anonymous') return undefined
    return { ownerCanonicalId: caller.account.canonicalId, grants: [], tags: [] }
  }

  async #requestFor(
    permission: RequiredPermission,
    bodyConditions: ConditionValues | undefined,
  ): Promise<AccessRequest> {
    const { facts, accounts, now, region } = this.#context
    const { target, operation } = this.#state
    const name = permission.on ?? target
    const { on, authorizedBy } = actionFacts(permission.action)
    const isNew = permission.forNewObjectOf !== undefined
    let bucket: MaybePromise<Bucket | undefined> = this.#state.bucket
    if (permission.on !== undefined && permission.on.bucket !== bucket?.name) bucket = facts.bucket(name.bucket)
    if (bucket instanceof Promise) bucket = await bucket
    const policy = bucket?.documents.includes('policy') ? await facts.document(bucket.name, 'policy') : undefined
    const ofBucket = bucket === undefined ? undefined : bucketFacts(bucket, policy, accounts)
    let stored = !isNew && on === 'object' && authorizedBy === 'object' ? facts.object(name) : undefined
    if (stored instanceof Promise) stored = await stored
    const deferredKeys = bodyConditions === undefined ? (operation?.deferredKeys ?? []) : []
    return {
      caller: this.#state.caller!,
      action: permission.action,
      resource:
        on === 'service' ? {} : on === 'bucket' ? { bucket: name.bucket } : { bucket: name.bucket, key: name.key },
      bucket: ofBucket,
      object: permission.forNewObjectOf === 'writer' ? this.#newObject() : stored,
      context: new RequestConditions(this.#exchange, this.#state, name, {
        now,
        region,
        bodyConditions: bodyConditions ?? [],
      }),
      deferred: deferredKeys.length > 0 ? { keys: deferredKeys, assume: 'allow' } : undefined,
      isInitiator: on === 'object' && operation?.ofUpload === true && (await this.#isInitiator(name)),
      ofNewObject: permission.forNewObjectOf === 'writer',
      anonymousNeedsPolicy: operation?.anonymousNeedsPolicy === true,
      policies: this.#context.policies,
    }
  }
}

/** A request as the pipeline knows it so far, and the part of that which its operation sees. */
import type { SignatureVersion } from '../auth/authentication.ts'
import type { Clock } from '../lib/clock.ts'
import type { Bucket } from '../model/bucket.ts'
import { ANONYMOUS_CANONICAL_ID, type Caller } from '../model/caller.ts'
import type { Fault } from '../model/faults.ts'
import type {
  AccountLookup,
  DialectBehavior,
  Header,
  IncomingBody,
  ObjectName,
  OperationContext,
} from '../operations/context.ts'
import type { Operation, RequiredPermission } from '../operations/operation.ts'
import type { Action } from '../rules/access/actions.ts'
import type { ConditionValues } from '../rules/access/condition-values.ts'
import type { AccessVerdict } from '../rules/access/evaluate.ts'
import { DIALECTS, type Dialect } from './dialect.ts'
import { EarlyResponse } from './early-response.ts'
import type { Exchange, WireResponse } from './exchange.ts'
import { faultInDialect } from './faults-in-dialect.ts'
import { type Address, type DecodedRequest, locationOf, regionHeader, wireHeaders } from './wire-form.ts'

/** The verdict about one required permission. */
interface AccessDecision {
  readonly action: Action
  readonly on: ObjectName
  readonly decision: AccessVerdict
}

/** A permission that was evaluated, or a lock that refused one of several keys of a request. */
export type AuditFinding = AccessDecision | { readonly lock: string; readonly versionId: string }

export const NO_HEADERS: readonly Header[] = []
const UNANSWERED: WireResponse = { status: 500, headers: [], body: undefined, close: true }

/**
 * Everything the pipeline has learned about a request so far. Error responses and the log are built from it. Fields
 * only, so that a fault injector can copy it.
 */
export class RequestState {
  // Known after routing.
  dialect: Dialect = DIALECTS.svc
  address!: Address
  /** Headers and query by neutral name; the fields of a form replace them. */
  request!: DecodedRequest
  operation: Operation | undefined = undefined
  /** For the log, which also names requests without an operation: `Preflight`, `Website`, `unknown`. */
  operationName = 'unknown'
  resource = '/'
  /** D28. The region of the addressed bucket as the response names it; undefined without a bucket. */
  bucketRegion: string | undefined = undefined
  /** Sent with every response, so that a page of another origin may read it. */
  cors = NO_HEADERS

  // Known after authentication.
  caller: Caller | undefined = undefined
  signatureVersion: SignatureVersion | undefined = undefined
  /** The signed region where any is accepted, else the configured one. */
  region = ''
  target!: ObjectName
  body!: IncomingBody

  // Known after authorization.
  bucket: Bucket | undefined = undefined
  auditFindings: AuditFinding[] = []

  code = 'ok'
  /** The statement, missing grant or lock that refused the request. */
  refusalReason: string | undefined = undefined
  response: WireResponse = UNANSWERED
  /** R61, R95. Present once the operation has allowed its response to begin early. */
  early: EarlyResponse | undefined = undefined
}

/** The authorization of the request, for permissions that depend on more than its headers. */
interface PermissionCheck {
  check(required: readonly RequiredPermission[], bodyConditions: ConditionValues): Promise<void>
  isAllowed(permission: RequiredPermission, bodyConditions: ConditionValues): Promise<boolean>
}

/** Supplied by the pipeline beside the exchange and the state. */
interface ContextParts extends Pick<OperationContext, 'store' | 'accounts' | 'anyRegion' | 'reportDamage'> {
  readonly clock: Clock
  readonly authorizer: PermissionCheck
  readonly permissions: readonly RequiredPermission[]
  /** Headers that every success carries. */
  readonly successHeaders: readonly Header[]
}

/** The context of an operation for one request. A class, so that all contexts share one hidden class. */
export class RequestContext implements OperationContext {
  readonly store: OperationContext['store']
  readonly accounts: AccountLookup
  readonly caller: Caller
  readonly callerId: string
  readonly behavior: DialectBehavior
  readonly region: string
  readonly anyRegion: boolean
  readonly request: OperationContext['request']
  readonly target: ObjectName
  readonly bucket: OperationContext['bucket']
  readonly body: IncomingBody
  readonly #exchange: Exchange
  readonly #state: RequestState
  readonly #parts: ContextParts

  constructor(exchange: Exchange, state: RequestState, parts: ContextParts) {
    const caller = state.caller!
    this.store = parts.store
    this.accounts = parts.accounts
    this.caller = caller
    this.callerId = caller.kind === 'anonymous' ? ANONYMOUS_CANONICAL_ID : caller.account.canonicalId
    this.behavior = state.dialect.behavior
    this.region = state.region
    this.anyRegion = parts.anyRegion
    this.request = state.request
    this.target = state.target
    // Operations on a bucket that need not exist look it up themselves.
    this.bucket = state.bucket as OperationContext['bucket']
    this.body = state.body
    this.#exchange = exchange
    this.#state = state
    this.#parts = parts
  }

  get location(): string {
    const { address, target, request } = this.#state
    return locationOf({ ...address, key: target.key }, request, this.#exchange.secure)
  }

  describeFault(fault: Fault): { readonly code: string; readonly message: string } {
    const { lock, VersionId } = fault.detail
    const { auditFindings, dialect, operation } = this.#state
    if (lock !== undefined) auditFindings.push({ lock: String(lock), versionId: String(VersionId) })
    return faultInDialect(fault, dialect, operation)
  }

  allowEarlyResponse(headers: readonly Header[]): void {
    const [state, exchange] = [this.#state, this.#exchange]
    state.early ??= new EarlyResponse(this.#parts.clock, response => exchange.beginEarly(response, state.dialect))
    const all = wireHeaders([...headers, ...this.#parts.successHeaders, ...state.cors], state.dialect)
    state.early.allow([...all, ...regionHeader(state)])
  }

  isAllowed(action: RequiredPermission['action'], on?: ObjectName, conditions: ConditionValues = []): Promise<boolean> {
    return this.#parts.authorizer.isAllowed(on === undefined ? { action } : { action, on }, conditions)
  }

  authorizeDeferred(conditions: ConditionValues): Promise<void> {
    return this.#parts.authorizer.check(this.#parts.permissions, conditions)
  }

  reportDamage(error: Error): void {
    this.#parts.reportDamage(error)
  }
}

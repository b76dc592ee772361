/** The context of an operation for one request. A class, so that all contexts share one hidden class. */
import type { Clock } from '../lib/clock.ts'
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
import type { RequiredPermission } from '../operations/operation.ts'
import type { ConditionValues } from '../rules/access/condition-values.ts'
import type { Authorizer } from './authorize.ts'
import { locationOf } from './decoded-request.ts'
import { EarlyResponse } from './early-response.ts'
import { regionHeader, wireHeaders } from './encode-response.ts'
import type { Exchange } from './exchange.ts'
import { faultInDialect } from './faults-in-dialect.ts'
import type { RequestState } from './request-state.ts'

/** Supplied by the pipeline beside the exchange and the state. */
interface ContextParts extends Pick<OperationContext, 'store' | 'accounts' | 'anyRegion' | 'reportDamage'> {
  readonly clock: Clock
  readonly authorizer: Authorizer
  readonly permissions: readonly RequiredPermission[]
  /** Headers that every success carries. */
  readonly successHeaders: readonly Header[]
}

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

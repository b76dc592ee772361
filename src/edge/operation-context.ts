/**
 * What an operation works with, for one request. A class, and nothing in it but fields: every operation looks at one of
 * these, so all of them have to have the same shape.
 */
import { ANONYMOUS_CANONICAL_ID, type Caller } from '../model/caller.ts'
import type { Fault } from '../model/faults.ts'
import type { AccountLookup, DialectBehavior, IncomingBody, OperationScope } from '../operations/context.ts'
import type { Header, ObjectName, RequiredPermission } from '../operations/operation.ts'
import type { ConditionValues } from '../rules/access/condition-values.ts'
import type { AccessQuestion } from './access-question.ts'
import { type Address, locationOf } from './address.ts'
import type { AccessDecision, Authorizer } from './authorize.ts'
import type { Dialect } from './dialect.ts'
import { faultInDialect } from './faults-in-dialect.ts'

/** A permission that was judged, or a lock that refused one of several things that a request asked for. */
export type AuditFinding = AccessDecision | { readonly lock: string; readonly versionId: string }

export interface OperationContextParts {
  readonly store: OperationScope['store']
  readonly accounts: AccountLookup
  readonly region: string
  readonly anyRegion: boolean
  readonly dialect: Dialect
  readonly address: Address
  readonly asking: AccessQuestion
  readonly bucket: OperationScope['bucket'] | undefined
  readonly body: IncomingBody
  readonly needs: readonly RequiredPermission[]
  readonly authorizer: Authorizer
  readonly findings: AuditFinding[]
  readonly late: { expect(headers: readonly Header[]): void }
  /** Headers that a success has in any case. */
  readonly always: readonly Header[]
  readonly noticed: (error: Error) => void
}

export class OperationContext implements OperationScope {
  readonly store: OperationScope['store']
  readonly accounts: AccountLookup
  readonly caller: Caller
  readonly callerId: string
  readonly behavior: DialectBehavior
  readonly region: string
  readonly anyRegion: boolean
  readonly request: OperationScope['request']
  readonly target: ObjectName
  readonly bucket: OperationScope['bucket']
  readonly body: IncomingBody
  readonly #parts: OperationContextParts

  constructor(parts: OperationContextParts) {
    const { caller } = parts.asking
    this.store = parts.store
    this.accounts = parts.accounts
    this.caller = caller
    this.callerId = caller.kind === 'anonymous' ? ANONYMOUS_CANONICAL_ID : caller.account.canonicalId
    this.behavior = parts.dialect.behavior
    this.region = parts.region
    this.anyRegion = parts.anyRegion
    this.request = parts.asking.view
    this.target = parts.asking.target
    // Operations on a bucket that need not exist look for themselves.
    this.bucket = parts.bucket as OperationScope['bucket']
    this.body = parts.body
    this.#parts = parts
  }

  get location(): string {
    const { address, asking } = this.#parts
    return locationOf({ ...address, key: asking.target.key }, asking.view, asking.secure)
  }

  describeFault(fault: Fault): { readonly code: string; readonly message: string } {
    const { lock, VersionId } = fault.detail
    const { findings, dialect, asking } = this.#parts
    if (lock !== undefined) findings.push({ lock: String(lock), versionId: String(VersionId) })
    return faultInDialect(fault, dialect, asking.operation)
  }

  allowEarlyResponse(headers: readonly Header[]): void {
    const { late, always } = this.#parts
    late.expect([...headers, ...always])
  }

  isAllowed(action: RequiredPermission['action'], on?: ObjectName, conditions: ConditionValues = []): Promise<boolean> {
    const { authorizer, asking, bucket } = this.#parts
    return authorizer.may(
      { ...asking, bodyConditions: conditions, deferred: undefined },
      on === undefined ? { action } : { action, on },
      bucket,
    )
  }

  reportDamage(error: Error): void {
    this.#parts.noticed(error)
  }

  async authorizeDeferred(conditions: ConditionValues): Promise<void> {
    const { authorizer, asking, bucket, needs } = this.#parts
    return authorizer.check({ ...asking, bodyConditions: conditions, deferred: undefined }, needs, bucket)
  }
}

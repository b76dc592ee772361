/**
 * What an operation works with, for one request. A class, and nothing in it but fields: every operation looks at one of
 * these, so all of them have to have the same shape.
 */
import { ANONYMOUS_CANONICAL_ID, type Caller } from '../model/caller.ts'
import type { Fault } from '../model/faults.ts'
import type { Accounts, Context, IncomingBody, Ways } from '../operations/context.ts'
import type { Header, Need, ObjectName } from '../operations/operation.ts'
import type { Told } from '../rules/access/told.ts'
import { type Address, locationOf } from './address.ts'
import type { Authorizer, Judgement } from './authorize.ts'
import type { Dialect } from './dialect.ts'
import { tell } from './faults-in-dialect.ts'
import type { Asking } from './request-context.ts'

/** A permission that was judged, or a lock that refused one of several things that a request asked for. */
export type Finding = Judgement | { readonly lock: string; readonly versionId: string }

export interface CallingParts {
  readonly store: Context['store']
  readonly accounts: Accounts
  readonly region: string
  readonly anyRegion: boolean
  readonly dialect: Dialect
  readonly address: Address
  readonly asking: Asking
  readonly bucket: Context['bucket'] | undefined
  readonly body: IncomingBody
  readonly needs: readonly Need[]
  readonly authorizer: Authorizer
  readonly findings: Finding[]
  readonly late: { expect(headers: readonly Header[]): void }
  /** Headers that a success has in any case. */
  readonly always: readonly Header[]
  readonly noticed: (error: Error) => void
}

export class Calling implements Context {
  readonly store: Context['store']
  readonly accounts: Accounts
  readonly caller: Caller
  readonly callerId: string
  readonly ways: Ways
  readonly region: string
  readonly anyRegion: boolean
  readonly request: Context['request']
  readonly target: ObjectName
  readonly bucket: Context['bucket']
  readonly body: IncomingBody
  readonly #parts: CallingParts

  constructor(parts: CallingParts) {
    const { caller } = parts.asking
    this.store = parts.store
    this.accounts = parts.accounts
    this.caller = caller
    this.callerId = caller.kind === 'anonymous' ? ANONYMOUS_CANONICAL_ID : caller.account.canonicalId
    this.ways = parts.dialect.ways
    this.region = parts.region
    this.anyRegion = parts.anyRegion
    this.request = parts.asking.view
    this.target = parts.asking.target
    // Operations on a bucket that need not exist look for themselves.
    this.bucket = parts.bucket as Context['bucket']
    this.body = parts.body
    this.#parts = parts
  }

  get location(): string {
    const { address, asking } = this.#parts
    return locationOf({ ...address, key: asking.target.key }, asking.view, asking.secure)
  }

  told(fault: Fault): { readonly code: string; readonly message: string } {
    const { lock, VersionId } = fault.detail
    const { findings, dialect, asking } = this.#parts
    if (lock !== undefined) findings.push({ lock: String(lock), versionId: String(VersionId) })
    return tell(fault, dialect, asking.operation)
  }

  mayLast(headers: readonly Header[]): void {
    const { late, always } = this.#parts
    late.expect([...headers, ...always])
  }

  may(action: Need['do'], on?: ObjectName, told: Told = []): Promise<boolean> {
    const { authorizer, asking, bucket } = this.#parts
    return authorizer.may(
      { ...asking, told, untold: undefined },
      on === undefined ? { do: action } : { do: action, on },
      bucket,
    )
  }

  noticed(error: Error): void {
    this.#parts.noticed(error)
  }

  async settle(told: Told): Promise<void> {
    const { authorizer, asking, bucket, needs } = this.#parts
    return authorizer.check({ ...asking, told, untold: undefined }, needs, bucket)
  }
}

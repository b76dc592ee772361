import type { SignatureVersion } from '../auth/authentication.ts'
import type { Bucket } from '../model/bucket.ts'
import type { Caller } from '../model/caller.ts'
import type { Header, IncomingBody, ObjectName } from '../operations/context.ts'
import type { Operation } from '../operations/operation.ts'
import type { Action } from '../rules/access/actions.ts'
import type { AccessVerdict } from '../rules/access/evaluate.ts'
import type { Address, DecodedRequest } from './decoded-request.ts'
import { DIALECTS, type Dialect } from './dialect.ts'
import type { EarlyResponse } from './early-response.ts'
import type { WireResponse } from './exchange.ts'

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

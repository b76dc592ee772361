import type { SignatureVersion } from '../auth/authentication.ts'
import type { Bucket } from '../model/bucket.ts'
import type { Caller } from '../model/caller.ts'
import type { Header, Operation, OperationResponse } from '../operations/operation.ts'
import { DIALECTS, type Dialect, wireName } from './dialect.ts'
import type { EarlyResponse } from './early-response.ts'
import { encodeResponse, type WireResponse, wireHeaders } from './encode-response.ts'
import type { RequestOutcome } from './exchange.ts'
import type { AuditFinding } from './operation-context.ts'

const NO_WIRE_HEADERS: readonly [string, string][] = []
export const NO_HEADERS: readonly Header[] = []
const UNANSWERED: WireResponse = { status: 500, headers: [], body: undefined, close: true }

export const withHeaders = (answers: OperationResponse, more: readonly Header[]): OperationResponse =>
  more.length === 0 ? answers : { ...answers, headers: [...(answers.headers ?? []), ...more] }

/** What is known of a request so far: whatever goes wrong, the answer and the log tell that much. */
export class RequestState implements RequestOutcome {
  dialect: Dialect = DIALECTS.svc
  operation = 'unknown'
  matchedOperation: Operation | undefined = undefined
  resource = '/'
  caller: Caller | undefined = undefined
  signatureVersion: SignatureVersion | undefined = undefined
  /** D28. Of the bucket that is addressed, as the answer names it; undefined when none is. */
  region: string | undefined = undefined
  auditFindings: AuditFinding[] = []
  bucket: Bucket | undefined = undefined
  code = 'ok'
  refusalReason: string | undefined = undefined
  outgoing: WireResponse = UNANSWERED
  /** For a page of another origin, on whatever the answer is. */
  cors = NO_HEADERS
  readonly late: EarlyResponse

  constructor(late: EarlyResponse) {
    this.late = late
  }

  /** How it went, and with that the outcome. */
  answered(answers: OperationResponse): RequestOutcome {
    this.outgoing = encodeResponse(withHeaders(answers, this.cors), this.dialect)
    if (this.region !== undefined) this.outgoing.headers.push(...this.regionHeader())
    return this
  }

  /** D28. */
  regionHeader(): readonly [string, string][] {
    if (this.region === undefined || !this.dialect.behavior.regionOnAnswers) return NO_WIRE_HEADERS
    return [[wireName(this.dialect, ':bucket-region'), this.region]]
  }

  /** The answer may begin with these headers before it is known. */
  expect(headers: readonly Header[]): void {
    this.late.expect([...wireHeaders([...headers, ...this.cors], this.dialect), ...this.regionHeader()])
  }
}

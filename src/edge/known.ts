import type { SignatureVersion } from '../auth/authentication.ts'
import type { Bucket } from '../model/bucket.ts'
import type { Caller } from '../model/caller.ts'
import type { Answers, Header, Operation } from '../operations/operation.ts'
import { type Outgoing, outgoing, wireHeaders } from './answer.ts'
import type { Finding } from './calling.ts'
import { DIALECTS, type Dialect, wireName } from './dialect.ts'
import type { LateAnswer } from './late-answer.ts'
import type { Outcome } from './outcome.ts'

const NO_WIRE_HEADERS: readonly [string, string][] = []
export const NO_HEADERS: readonly Header[] = []
const UNANSWERED: Outgoing = { status: 500, headers: [], body: undefined, close: true }

export const withHeaders = (answers: Answers, more: readonly Header[]): Answers =>
  more.length === 0 ? answers : { ...answers, headers: [...(answers.headers ?? []), ...more] }

/** What is known of a request so far: whatever goes wrong, the answer and the log tell that much. */
export class Known implements Outcome {
  dialect: Dialect = DIALECTS.svc
  operation = 'unknown'
  asked: Operation | undefined = undefined
  resource = '/'
  caller: Caller | undefined = undefined
  signatureVersion: SignatureVersion | undefined = undefined
  /** D28. Of the bucket that is addressed, as the answer names it; undefined when none is. */
  region: string | undefined = undefined
  findings: Finding[] = []
  bucket: Bucket | undefined = undefined
  code = 'ok'
  why: string | undefined = undefined
  outgoing: Outgoing = UNANSWERED
  /** For a page of another origin, on whatever the answer is. */
  cors = NO_HEADERS
  readonly late: LateAnswer

  constructor(late: LateAnswer) {
    this.late = late
  }

  /** How it went, and with that the outcome. */
  answered(answers: Answers): Outcome {
    this.outgoing = outgoing(withHeaders(answers, this.cors), this.dialect)
    if (this.region !== undefined) this.outgoing.headers.push(...this.regionHeader())
    return this
  }

  /** D28. */
  regionHeader(): readonly [string, string][] {
    if (this.region === undefined || !this.dialect.ways.regionOnAnswers) return NO_WIRE_HEADERS
    return [[wireName(this.dialect, ':bucket-region'), this.region]]
  }

  /** The answer may begin with these headers before it is known. */
  expect(headers: readonly Header[]): void {
    this.late.expect([...wireHeaders([...headers, ...this.cors], this.dialect), ...this.regionHeader()])
  }
}

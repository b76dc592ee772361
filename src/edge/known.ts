import type { Bucket } from '../model/bucket.ts'
import type { Caller } from '../model/caller.ts'
import type { Answers, Header, Operation } from '../operations/operation.ts'
import { type Outgoing, outgoing } from './answer.ts'
import type { Finding } from './calling.ts'
import { DIALECTS, type Dialect } from './dialect.ts'
import type { LateAnswer } from './late-answer.ts'
import type { Outcome } from './outcome.ts'

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
    return this
  }
}

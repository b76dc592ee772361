/** What is told about every request: the one place from which log, measures, audit, traces and access logs are fed. */
import type { RawRequest } from '../http/raw-request.ts'
import type { RequestOutcome } from './exchange.ts'

export interface Exchange {
  readonly requestId: string
  readonly hostId: string
  readonly request: RawRequest
  readonly status: number
  readonly remoteAddress: string
  readonly secure: boolean
  /** Until the answer was known. */
  readonly milliseconds: number
  /** The client went away before there was an answer. */
  readonly aborted: boolean
}

/** An exchange that is over. Bytes are those of bodies. */
export interface FinishedExchange extends Exchange {
  readonly receivedBytes: number
  readonly sentBytes: number
  /** Until the last byte of the answer was taken, or its client was gone. */
  readonly totalMilliseconds: number
}

export interface Recorder {
  /** A request has come in. */
  begun(): void
  /** Its answer is known, and nothing of it has been sent. */
  decided(outcome: RequestOutcome, exchange: Exchange): void
  /** Its answer was sent, as far as its client took it. */
  ended(outcome: RequestOutcome, exchange: FinishedExchange): void
  /** A request that came in is done with, however it ended. */
  left(): void
}

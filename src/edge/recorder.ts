/** The single source of log, metrics, audit, traces and access logs. */
import type { ExchangeRecord } from './exchange.ts'
import type { RequestState } from './request-state.ts'

export interface Recorder {
  /** A request has arrived. */
  begun(): void
  /** Its response is decided, and none of it has been sent. */
  decided(state: RequestState, exchange: ExchangeRecord): void
  /** Its response was sent, or the client disconnected. */
  ended(state: RequestState, exchange: ExchangeRecord): void
  /** The request is finished, however it ended. */
  left(): void
}

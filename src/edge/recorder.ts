/** The one place from which log, metrics, audit, traces and access logs are fed. */
import type { ExchangeRecord } from './exchange.ts'
import type { RequestState } from './request-state.ts'

export interface Recorder {
  /** A request has arrived. */
  begun(): void
  /** Its response is decided, and nothing of it has been sent. */
  decided(state: RequestState, exchange: ExchangeRecord): void
  /** Its response was sent, as far as the client took it. */
  ended(state: RequestState, exchange: ExchangeRecord): void
  /** A request that arrived is finished, however it ended. */
  left(): void
}

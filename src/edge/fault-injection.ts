/** The hook by which an embedding program injects faults into requests. A standalone server has none. */
import type { Exchange } from './exchange.ts'
import type { RequestState } from './request-state.ts'

export interface InterceptedRequest {
  readonly operation: string
  readonly method: string
  /** Empty for the service itself. */
  readonly bucket: string
  readonly key: string
}

/** Calls through to the server, or acts instead: before, around or after it. */
export type FaultInjector = (
  request: InterceptedRequest,
  exchange: Exchange,
  respond: (exchange: Exchange) => Promise<RequestState>,
) => Promise<RequestState>

/** Thrown to close the connection without a response, or in the middle of one. */
export class ConnectionCut extends Error {
  constructor() {
    super('the connection was cut by an injected fault')
  }
}

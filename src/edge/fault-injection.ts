/** The hook by which an embedding program makes requests fail on purpose. A server that serves has none. */
import type { Exchange } from './exchange.ts'
import type { RequestState } from './request-state.ts'

export interface InterceptedRequest {
  readonly operation: string
  readonly method: string
  /** Empty where no bucket is addressed. */
  readonly bucket: string
  readonly key: string
}

/** Lets a request be answered, or does something else instead: before, around or after. */
export type FaultInjector = (
  request: InterceptedRequest,
  exchange: Exchange,
  answer: (exchange: Exchange) => Promise<RequestState>,
) => Promise<RequestState>

/** Thrown to close the connection without a response, or in the middle of one. */
export class ConnectionCut extends Error {
  constructor() {
    super('the connection was cut by an injected fault')
  }
}

/** Where somebody who wants to see things go wrong takes hold of a request. A server that serves has nobody here. */
import type { IncomingRequest, RequestOutcome } from './exchange.ts'

export interface InterceptedRequest {
  readonly operation: string
  readonly method: string
  /** Empty for what concerns none. */
  readonly bucket: string
  readonly key: string
}

/** Lets a request be answered, or does something else instead: before, around or after. */
export type FaultInjector = (
  asked: InterceptedRequest,
  incoming: IncomingRequest,
  answer: (incoming: IncomingRequest) => Promise<RequestOutcome>,
) => Promise<RequestOutcome>

/** Thrown on purpose: the connection ends here, without an answer or in the middle of it. */
export class ConnectionCut extends Error {
  constructor() {
    super('the connection was cut on purpose')
  }
}

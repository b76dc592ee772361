/** One request and its response on the wire, from the first byte to the last, as the transport sees it. */
import type { Slot } from '../http/admission.ts'
import type { NegotiatedTls } from '../http/connection.ts'
import type { RawRequest } from '../http/raw-request.ts'
import type { Dialect } from './dialect.ts'

/** The part of an exchange that the log, metrics, audit, traces and access logs record. */
export interface ExchangeRecord {
  readonly requestId: string
  readonly hostId: string
  readonly request: RawRequest
  readonly remoteAddress: string
  readonly secure: boolean
  readonly tls?: NegotiatedTls | undefined
  /** Status of the response. */
  status: number
  /** Time until the response was decided. */
  milliseconds: number
  /** The client disconnected before the response was decided. */
  aborted: boolean
  /** Body bytes in each direction, once the exchange is over. */
  receivedBytes: number
  sentBytes: number
  /** Time until the client has read the last byte of the response, or disconnected. */
  totalMilliseconds: number
}

export interface Exchange extends ExchangeRecord {
  readonly body: AsyncIterable<Buffer>
  /** Its share of the admission limits. */
  readonly slot: Slot
  /** Asks a waiting client for its body. Called only once the body will be read. */
  sendContinue(): void
  /** R61, R95. Sends a response whose body goes on until the result is known. */
  beginEarly(response: WireResponse, dialect: Dialect): void
}

export interface WireResponse {
  readonly status: number
  readonly headers: [string, string][]
  readonly body: Buffer | AsyncIterable<Buffer> | undefined
  /** The connection closes after this response: the rest of the request is not read. */
  readonly close: boolean
  /** A fault's message for the log, since a response to HEAD has no body. */
  readonly message?: string
}

/** One request and its response on the wire: the transport's side of it, from the first byte to the last. */
import type { Slot } from '../http/admission.ts'
import type { RawRequest } from '../http/raw-request.ts'

/** The part of an exchange that the log, metrics, audit, traces and access logs record. */
export interface ExchangeRecord {
  readonly requestId: string
  readonly hostId: string
  readonly request: RawRequest
  readonly remoteAddress: string
  readonly secure: boolean
  /** Of the response. */
  status: number
  /** Until the response was decided. */
  milliseconds: number
  /** The client disconnected before the response was decided. */
  aborted: boolean
  /** Body bytes in each direction, once the exchange is over. */
  receivedBytes: number
  sentBytes: number
  /** Until the client took the last byte of the response, or disconnected. */
  totalMilliseconds: number
}

export interface Exchange extends ExchangeRecord {
  readonly body: AsyncIterable<Buffer>
  /** `1.3`; undefined without TLS. */
  readonly tlsVersion: string | undefined
  /** Its share of what all requests in flight may take up. */
  readonly slot: Slot
  /** Asks a waiting client for its body. Called only once the body will be read. */
  sendContinue(): void
}

export interface WireResponse {
  readonly status: number
  readonly headers: [string, string][]
  readonly body: Buffer | AsyncIterable<Buffer> | undefined
  /** The connection ends with this response: the rest of the request is not read. */
  readonly close: boolean
  /** Of a fault, for the log: a response to HEAD carries none. */
  readonly message?: string
}

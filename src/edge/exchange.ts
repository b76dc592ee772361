/** A request as it comes to the pipeline, and what comes of it. */
import type { SignatureVersion } from '../auth/authentication.ts'
import type { Slot } from '../http/admission.ts'
import type { RawRequest } from '../http/raw-request.ts'
import type { Bucket } from '../model/bucket.ts'
import type { Caller } from '../model/caller.ts'
import type { Operation } from '../operations/operation.ts'
import type { Dialect } from './dialect.ts'
import type { WireResponse } from './encode-response.ts'
import type { AuditFinding } from './operation-context.ts'

export interface IncomingRequest {
  readonly request: RawRequest
  readonly body: AsyncIterable<Buffer>
  readonly remoteAddress: string
  readonly secure: boolean
  /** `1.3`; undefined without TLS. */
  readonly tlsVersion: string | undefined
  readonly requestId: string
  readonly hostId: string
  /** What it takes up while it is under way. */
  readonly slot: Slot
  /** Tells a waiting client to send its body: only now is it known that somebody will read it. */
  sendContinue(): void
}

export interface RequestOutcome {
  readonly outgoing: WireResponse
  readonly dialect: Dialect
  /** For the log: what was asked, of what, by whom, and how it ended. */
  readonly operation: string
  readonly resource: string
  readonly caller: Caller | undefined
  /** How the caller proved who it is. */
  readonly signatureVersion?: SignatureVersion | undefined
  readonly code: string
  /** What refused it: a statement, a list that does not give it, a lock. */
  readonly refusalReason?: string | undefined
  /** What was asked for, and what decided about it on the way: for whoever keeps a record of decisions. */
  readonly matchedOperation?: Operation | undefined
  readonly auditFindings?: readonly AuditFinding[]
  /** The bucket that it is about, if there is one and it was looked at. */
  readonly bucket?: Bucket | undefined
  /** Of an answer that began before it was known: how it ended. */
  readonly ended?: Promise<RequestOutcome>
}

/** One client connection: its requests in flight, and how long it has been idle. */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Fault } from '../model/faults.ts'
import type { IncomingBytes } from './incoming-bytes.ts'
import { type PendingWait, TIMEOUTS, type Timeouts } from './timeouts.ts'

/** Pipelined requests that may queue on one connection; more is treated as a flood. */
const WAITING_MAX = 100

/** A response above this may not fit the client's socket buffer. */
const LARGE_BYTES = 64 * 1024
/** A client that waits for each response has read the previous one by then. */
const FRESH_MS = 1_000

const NO_PREDECESSORS: readonly unknown[] = []

/** Bun exposes neither. */
export interface NegotiatedTls {
  /** `1.3` */
  readonly version: string | undefined
  readonly cipher: string | undefined
}

/** One request on a connection, until its response is sent. */
export interface InFlightRequest {
  readonly isSafe: boolean
  readonly body: Pick<IncomingBytes, 'isWhole' | 'cut'>
  /** Settles when the request has been served; later requests wait for it. */
  served: MaybePromise<unknown>
}

export class ClientConnection implements PendingWait {
  readonly socket: Socket
  readonly #timeouts: Timeouts
  readonly #inFlight: InFlightRequest[] = []
  #remoteAddress: string | undefined
  #tls: NegotiatedTls | undefined
  #idleSince: number
  /** Until the first bytes have arrived. */
  #isNew = true
  #body: InFlightRequest['body'] | undefined
  #refusal: (() => void) | undefined
  #isLingering = false
  #largeSentAt = Number.NEGATIVE_INFINITY
  /** The connection closes after the requests in flight. */
  #isLast = false
  /** A response carried `Connection: close`. */
  #isEnding = false

  constructor(socket: Socket, timeouts: Timeouts) {
    this.socket = socket
    this.#timeouts = timeouts
    this.#idleSince = timeouts.clock.now()
  }

  /** Cached, because a closed socket no longer knows its address. */
  get remoteAddress(): string {
    this.#remoteAddress ??= this.socket.remoteAddress
    return this.#remoteAddress ?? ''
  }

  /** Undefined without TLS. Cached like the address. */
  get tls(): NegotiatedTls | undefined {
    if (!(this.socket instanceof TLSSocket)) return undefined
    this.#tls ??= { version: this.socket.getProtocol()?.replace('TLSv', ''), cipher: this.socket.getCipher()?.name }
    return this.#tls
  }

  /** Called when the first bytes have arrived, a whole request or less. */
  heard(): void {
    this.#isNew = false
    this.#idleSince = this.#timeouts.clock.now()
  }

  /** Called when a response of this size has been handed to the socket; the client may not have read it. */
  sent(bytes: number): void {
    if (bytes > LARGE_BYTES) this.#largeSentAt = this.#timeouts.clock.now()
  }

  /** A pipelining client may not have read the previous response; closing now would lose it. */
  get mayHaveUnreadResponse(): boolean {
    return this.#timeouts.clock.now() - this.#largeSentAt <= FRESH_MS
  }

  /**
   * RFC 9112, 9.3.2. Pipelined safe requests run in parallel. An unsafe request waits for all before it, and all after
   * it wait for it. A request whose client has disconnected before its turn is skipped.
   */
  begin(request: InFlightRequest, serve: () => MaybePromise<void>, skip: () => void): void {
    if (this.#isNew) this.heard()
    // Few clients pipeline.
    const before = this.#inFlight.length === 0 ? NO_PREDECESSORS : this.#predecessorsOf(request)
    this.#inFlight.push(request)
    this.#body = request.body
    if (before.length > WAITING_MAX) this.socket.destroy()
    request.served =
      before.length === 0 && !this.#isEnding
        ? serve()
        : // The client ignores responses after the one that closed the connection.
          Promise.allSettled(before).then(() => (this.#isEnding || this.socket.destroyed ? skip() : serve()))
  }

  /**
   * RFC 9112, 9.6. After `Connection: close` the client repeats all later requests on another connection, so none of
   * them may take effect here.
   */
  endsWithAnswer(): void {
    this.#isEnding = true
  }

  #predecessorsOf({ isSafe }: InFlightRequest): unknown[] {
    const before: unknown[] = []
    for (const one of this.#inFlight) if (!isSafe || !one.isSafe) before.push(one.served)
    return before
  }

  /** The request was served or skipped; later writes go out after its response. */
  end(request: InFlightRequest): void {
    // Usually the only request. Order does not matter, so removal swaps with the last.
    const last = this.#inFlight.pop()!
    const at = this.#inFlight.indexOf(request)
    if (at >= 0) this.#inFlight[at] = last
    this.#idleSince = this.#timeouts.clock.now()
    this.#refuseWhenIdle()
    // Node would keep the connection for another request.
    if (this.#isLast && !this.isBusy) this.socket.destroySoon()
  }

  /**
   * The input is not valid HTTP, and the connection cannot recover. Inside a body the body's reader reports the fault;
   * otherwise `refuse` does, after the responses still pending.
   */
  break(fault: Fault, refuse: () => void): void {
    if (this.#refusal !== undefined || this.#isLingering) return
    if (this.isBusy && this.#body?.isWhole === false) this.#body.cut(fault)
    else {
      this.#refusal = refuse
      this.#refuseWhenIdle()
    }
  }

  #refuseWhenIdle(): void {
    if (this.isBusy || this.#refusal === undefined || this.#isLingering) return
    this.#isLingering = true
    if (this.socket.writable) this.#refusal()
    else this.socket.destroy()
  }

  isOver(now: number): boolean {
    return !this.isBusy && now - this.#idleSince >= this.#timeoutMs
  }

  get #timeoutMs(): number {
    if (this.#isLingering) return TIMEOUTS.lingerMs
    return this.#isNew ? TIMEOUTS.firstBytesMs : TIMEOUTS.keepAliveMs
  }

  get isBusy(): boolean {
    return this.#inFlight.length > 0
  }

  /** The connection closes after the response to its only request: a client must not send another one. */
  get endsNow(): boolean {
    return this.#isLast && this.#inFlight.length === 1
  }

  expire(): void {
    this.socket.destroy()
  }

  /** The server is stopping: an idle connection closes immediately. */
  endWhenQuiet(): void {
    this.#isLast = true
    if (!this.isBusy) this.socket.destroy()
  }
}

/** One connection: its requests in flight, and since when it is idle. */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Fault } from '../model/faults.ts'
import type { IncomingBytes } from './incoming-bytes.ts'
import { type PendingWait, TIMEOUTS, type Timeouts } from './timeouts.ts'

/** Pipelined requests that may wait for their turn on one connection; more than that is a flood. */
const WAITING_MAX = 100

/** Bytes that a client's side of a connection buffers before the client reads. */
const LARGE_BYTES = 64 * 1024
/** A client that waits for a response before its next request has taken it by then, or is in no hurry. */
const FRESH_MS = 1_000

const NO_PREDECESSORS: readonly Promise<unknown>[] = []

/** One request that came on a connection, until its answer is out. */
export interface InFlightRequest {
  readonly isSafe: boolean
  readonly body: IncomingBytes
  /** Settled when it has been served; there for those that wait behind it. */
  served: Promise<unknown> | undefined
}

export class ClientConnection implements PendingWait {
  readonly socket: Socket
  readonly #timeouts: Timeouts
  readonly #underWay: InFlightRequest[] = []
  #remoteAddress: string | undefined
  #tlsVersion: string | undefined
  #quietSince: number
  #body: IncomingBytes | undefined
  #refusal: (() => void) | undefined
  #isParting = false
  #largeSentAt = Number.NEGATIVE_INFINITY
  /** No more requests after those under way. */
  #isLast = false
  /** Its client was told that it ends with an answer. */
  #isEnding = false

  constructor(socket: Socket, timeouts: Timeouts) {
    this.socket = socket
    this.#timeouts = timeouts
    this.#quietSince = timeouts.now()
  }

  /** Asked for once: that of a socket which is gone is not known any more. */
  get remoteAddress(): string {
    this.#remoteAddress ??= this.socket.remoteAddress
    return this.#remoteAddress ?? ''
  }

  /** `1.3`; undefined without TLS. */
  get tlsVersion(): string | undefined {
    if (!(this.socket instanceof TLSSocket)) return undefined
    this.#tlsVersion ??= this.socket.getProtocol()?.replace('TLSv', '')
    return this.#tlsVersion
  }

  /** An answer of so many bytes was handed over, which is not to say that the client has them. */
  sent(bytes: number): void {
    if (bytes > LARGE_BYTES) this.#largeSentAt = this.#timeouts.now()
  }

  /** A client that sends one request behind the other may not have begun to read: to cut it off would lose that. */
  get mayHaveUnreadResponse(): boolean {
    return this.#timeouts.now() - this.#largeSentAt <= FRESH_MS
  }

  /**
   * RFC 9112, 9.3.2. Of requests that come one behind the other without waiting for answers, those that change nothing
   * are served side by side; what changes something waits for all before it, and all behind wait for it. One whose
   * client has left before its turn is passed over instead of served.
   */
  begin(request: InFlightRequest, serve: () => Promise<void>, passOver: () => void): void {
    // Hardly any client sends the next request before it has its answer.
    const before = this.#underWay.length === 0 ? NO_PREDECESSORS : this.#waitedFor(request)
    this.#underWay.push(request)
    this.#body = request.body
    if (before.length > WAITING_MAX) this.socket.destroy()
    request.served =
      before.length === 0 && !this.#isEnding
        ? serve()
        : // Behind an answer that ended the connection there is nobody left who asks.
          Promise.allSettled(before).then(() => (this.#isEnding || this.socket.destroyed ? passOver() : serve()))
  }

  /**
   * RFC 9112, 9.6. An answer says that it is the last one: its client will ask for all else again, on another
   * connection, and nothing of it may have been done here by then.
   */
  endsWithAnswer(): void {
    this.#isEnding = true
  }

  #waitedFor({ isSafe }: InFlightRequest): Promise<unknown>[] {
    const before: Promise<unknown>[] = []
    for (const one of this.#underWay) if (!isSafe || !one.isSafe) before.push(one.served!)
    return before
  }

  /** It was served or passed over. What is written from now on goes out behind its answer. */
  end(request: InFlightRequest): void {
    // Nearly always the only one; of several, any may take its place.
    const last = this.#underWay.pop()!
    const at = this.#underWay.indexOf(request)
    if (at >= 0) this.#underWay[at] = last
    this.#quietSince = this.#timeouts.now()
    this.#refuseAtLast()
    // Node would keep the connection for another request.
    if (this.#isLast && !this.isBusy) this.socket.destroySoon()
  }

  /**
   * What came is not HTTP, and nothing that comes later will be. Where that is a body, whoever reads it answers;
   * otherwise `refuse` does, behind the answers that are still owed.
   */
  break(fault: Fault, refuse: () => void): void {
    if (this.#refusal !== undefined || this.#isParting) return
    if (this.isBusy && this.#body?.isWhole === false) this.#body.cut(fault)
    else {
      this.#refusal = refuse
      this.#refuseAtLast()
    }
  }

  #refuseAtLast(): void {
    if (this.isBusy || this.#refusal === undefined || this.#isParting) return
    this.#isParting = true
    if (this.socket.writable) this.#refusal()
    else this.socket.destroy()
  }

  isOver(now: number): boolean {
    const patienceMs = this.#isParting ? TIMEOUTS.lingerMs : TIMEOUTS.keepAliveMs
    return !this.isBusy && now - this.#quietSince >= patienceMs
  }

  get isBusy(): boolean {
    return this.#underWay.length > 0
  }

  expire(): void {
    this.socket.destroy()
  }

  /** The server stops: a connection on which nothing is under way has no reason to stay. */
  endWhenQuiet(): void {
    this.#isLast = true
    if (!this.isBusy) this.socket.destroy()
  }
}

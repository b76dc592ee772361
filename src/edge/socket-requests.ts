/**
 * Requests without the runtime's HTTP implementation, which costs more than a small read itself. A new connection is
 * read here: a request with a plain head that arrives as a whole is answered on the socket. The first other request
 * hands the connection to the runtime for good, with the bytes that have arrived.
 */
import type { Admission } from '../http/admission.ts'
import type { ClientConnection, InFlightRequest } from '../http/connection.ts'
import { DirectConnection, type Taken } from '../http/direct-connection.ts'
import type { HoldableInput } from '../http/holdable-input.ts'
import { type PlainHead, parseArrived, parsePlainHead } from '../http/plain-head.ts'
import type { RawRequest } from '../http/raw-request.ts'
import { RepeatedHeads } from '../http/repeated-heads.ts'
import type { Timeouts } from '../http/timeouts.ts'
import { WholeBody } from '../http/whole-body.ts'
import { returnChunk } from '../lib/buffer-pool.ts'
import { EMPTY, ownCopy } from '../lib/bytes.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { abandon, readerOf } from '../lib/piece-stream.ts'
import type { Exchange } from './exchange.ts'
import type { Pipeline } from './pipeline.ts'
import type { Recorder } from './recorder.ts'
import type { RequestIds } from './request-ids.ts'
import type { RequestState } from './request-state.ts'
import { SignedHeads } from './signed-head.ts'
import { SHORT_BODY_BYTES_MAX, SocketResponses } from './socket-response.ts'

/** Larger bodies are streams. */
const BODY_BYTES_MAX = 2 ** 20
/** Above this many that are in memory, for a disk or for their clients, only short ones are. */
const PENDING_MAX = 32

/** Head and body together: as much as one read of a socket. */
const ARRIVED_BYTES_MAX = 64 * 1024

interface SocketRequestsParts {
  readonly readImmediately: Pipeline['readImmediately']
  readonly handle: Pipeline['handle']
  readonly recorder: Recorder
  readonly admission: Admission
  readonly timeouts: Timeouts
  readonly ids: RequestIds
  readonly isSecure: boolean
  readonly keepAliveSeconds: number
  readonly onError: (error: unknown, requestId: string) => void
}

const NO_BODY = new WholeBody(EMPTY)

interface SocketExchange extends Exchange, InFlightRequest {
  readonly body: WholeBody
  readonly connection: ClientConnection
  readonly started: number
  isLast: boolean
}

const ignore = (): void => {}

/** The first letter of GET and HEAD, and of no other method. */
const mayBeRead = (bytes: Buffer): boolean => bytes[0] === 0x47 || bytes[0] === 0x48

const BATCH_DELETION = /^[^?]*\?delete(?:[=&]|$)/
/** A presigned URL may name the source in its query, with any character of the name escaped. */
const COPY_BY_QUERY = /[?&][^=&]*(?:-copy-source|%)/i

/** R61, R95. The response may have to begin before its result is known, as those of the runtime can. */
const mayBeginEarly = ({ method, target, headers }: RawRequest): boolean =>
  method === 'POST'
    ? !BATCH_DELETION.test(target)
    : method === 'PUT' && (COPY_BY_QUERY.test(target) || headers.some(([name]) => /-copy-source$/i.test(name)))

export class SocketRequests {
  readonly #parts: SocketRequestsParts
  readonly #responses: SocketResponses
  readonly #signedHeads = new SignedHeads()
  readonly #heads = new RepeatedHeads(
    (bytes, isShared) => this.#signedHeads.parse(bytes, isShared) ?? parsePlainHead(bytes, isShared),
  )
  /** Reads whose bytes are not there yet, or not taken by the kernel. */
  #pending = 0

  constructor(parts: SocketRequestsParts) {
    this.#parts = parts
    this.#responses = new SocketResponses(parts.timeouts, parts.keepAliveSeconds)
  }

  /** Reads a new connection; `handOver` gets the bytes of the first request that is not answered here. */
  serve(connection: ClientConnection, handOver: (bytes: Buffer) => void): void {
    const take = (on: DirectConnection, bytes: Buffer): Taken =>
      !connection.isBusy && (this.#isRead(on, bytes) || this.#isHandled(on, bytes))
    new DirectConnection(connection, { take, handOver })
  }

  /** True where the fast path answers it. */
  #isRead(on: DirectConnection, bytes: Buffer): boolean {
    const { connection } = on
    const head = mayBeRead(bytes) ? this.#heads.get(bytes) : undefined
    if (head === undefined) return false
    const exchange = this.#exchangeOf(connection, head, NO_BODY)
    const bodyBytesMax = this.#pending < PENDING_MAX ? BODY_BYTES_MAX : SHORT_BODY_BYTES_MAX
    const reading = this.#parts.readImmediately(exchange, bodyBytesMax)
    if (reading === undefined) {
      exchange.slot.leave()
      return false
    }
    this.#parts.recorder.begun()
    const serve = (): MaybePromise<void> =>
      reading instanceof Promise
        ? this.#answerLater(exchange, reading, on, ownCopy(bytes))
        : this.#answerRead(exchange, reading)
    connection.begin(exchange, serve, () => this.#leave(exchange))
    return true
  }

  /** True where the steps of the pipeline answer it. */
  #isHandled({ connection, input }: DirectConnection, bytes: Buffer): Taken {
    const arrived = parseArrived(bytes)
    if (arrived === undefined || mayBeginEarly(arrived.request)) return false
    const { body, missingBytes } = arrived
    if (bytes.length + missingBytes > ARRIVED_BYTES_MAX) return false
    if (missingBytes > 0) return 'begun'
    const exchange = this.#exchangeOf(
      connection,
      arrived,
      body.length === 0 ? NO_BODY : new WholeBody(Buffer.from(body)),
    )
    this.#parts.recorder.begun()
    const serve = (): Promise<void> => this.#answerInSteps(exchange, input)
    connection.begin(exchange, serve, () => this.#leave(exchange))
    return true
  }

  async #counted<T>(serving: Promise<T>): Promise<T> {
    this.#pending++
    try {
      return await serving
    } finally {
      this.#pending--
    }
  }

  /** A body that is a stream holds little memory. */
  #answerRead(exchange: SocketExchange, state: RequestState): MaybePromise<void> {
    const answering = this.#answer(exchange, state)
    return answering instanceof Promise && Buffer.isBuffer(state.response.body) ? this.#counted(answering) : answering
  }

  #exchangeOf(connection: ClientConnection, { request, isLast }: PlainHead, body: WholeBody): SocketExchange {
    const { ids, admission, isSecure } = this.#parts
    return {
      requestId: ids.next(),
      hostId: ids.hostId,
      request,
      body,
      remoteAddress: connection.remoteAddress,
      secure: isSecure,
      tls: connection.tls,
      slot: admission.enter(),
      sendContinue: ignore,
      beginEarly: ignore,
      status: 0,
      milliseconds: 0,
      aborted: false,
      receivedBytes: 0,
      sentBytes: 0,
      totalMilliseconds: 0,
      isSafe: request.method === 'GET' || request.method === 'HEAD',
      served: undefined,
      connection,
      started: performance.now(),
      isLast,
    }
  }

  /** Bytes that arrive meanwhile are held, so that no later request overtakes this one. */
  async #answerLater(
    exchange: SocketExchange,
    reading: Promise<RequestState | undefined>,
    on: DirectConnection,
    bytes: Buffer,
  ): Promise<void> {
    on.input.hold()
    const state = await this.#counted(reading)
    if (state !== undefined) {
      await this.#answerRead(exchange, state)
      on.input.release()
      return
    }
    // Before this exchange ends: a server that stops closes a connection that has none.
    if (!exchange.connection.socket.destroyed) on.leave(bytes)
    this.#leave(exchange)
  }

  async #answerInSteps(exchange: SocketExchange, input: HoldableInput): Promise<void> {
    input.hold()
    try {
      await this.#answer(exchange, await this.#parts.handle(exchange))
    } catch (error) {
      this.#fail(exchange, error)
      this.#leave(exchange)
    }
    input.release()
  }

  /** Records and sends the response. Never throws or rejects: an error closes only the connection of its request. */
  #answer(exchange: SocketExchange, state: RequestState): MaybePromise<void> {
    const { recorder } = this.#parts
    const { socket } = exchange.connection
    let sending: MaybePromise<void> | undefined
    try {
      exchange.status = state.response.status
      exchange.milliseconds = performance.now() - exchange.started
      exchange.aborted = socket.destroyed
      recorder.decided(state, exchange)
      state.early?.end(state.response)
      sending = this.#responses.send(exchange, state)
    } catch (error) {
      const { body } = state.response
      if (body !== undefined && !Buffer.isBuffer(body)) void abandon(readerOf(body))
      this.#fail(exchange, error)
    }
    if (!(sending instanceof Promise)) return this.#end(exchange, state)
    return sending.catch(error => this.#fail(exchange, error)).then(() => this.#end(exchange, state))
  }

  #fail({ connection, requestId }: SocketExchange, error: unknown): void {
    this.#parts.onError(error, requestId)
    connection.socket.destroy()
  }

  /** The response was handed to the connection, or broke off. */
  #end(exchange: SocketExchange, state: RequestState): void {
    const { connection, sentBytes, started } = exchange
    const { socket } = connection
    const { body } = state.response
    exchange.totalMilliseconds = performance.now() - started
    exchange.receivedBytes = exchange.body.bytes
    connection.sent(sentBytes)
    // On a lost connection the kernel may never have taken the bytes.
    if (Buffer.isBuffer(body) && sentBytes > 0 && socket.writableLength === 0 && !socket.destroyed) returnChunk(body)
    // Not before: nothing can be written after the end.
    if (exchange.isLast) socket.destroySoon()
    try {
      this.#parts.recorder.ended(state, exchange)
    } catch (error) {
      this.#fail(exchange, error)
    } finally {
      this.#leave(exchange)
    }
  }

  #leave(exchange: SocketExchange): void {
    exchange.slot.leave()
    exchange.connection.end(exchange)
    this.#parts.recorder.left()
  }
}

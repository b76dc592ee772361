/** The HTTP/1.1 server. It knows no operation; it hands every request to the pipeline. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { Admission } from '../http/admission.ts'
import { ResponseWriter } from '../http/body-transfer.ts'
import { breakOff } from '../http/break-off.ts'
import { ClientConnection, type InFlightRequest } from '../http/connection.ts'
import { IncomingBytes } from '../http/incoming-bytes.ts'
import { type Certificate, Handshakes, listen, renew, stopListening, takenFromRuntime } from '../http/listen.ts'
import { headerValue, isSpokenVersion } from '../http/raw-request.ts'
import { withSharedBuffer } from '../http/shared-buffer-socket.ts'
import { TIMEOUTS, Timeouts } from '../http/timeouts.ts'
import type { Clock } from '../lib/clock.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Random } from '../lib/random.ts'
import { REPORTS_WRITTEN_BYTES } from '../lib/runtime.ts'
import { Fault } from '../model/faults.ts'
import type { Dialect } from './dialect.ts'
import type { Exchange, ExchangeRecord, WireResponse } from './exchange.ts'
import { ConnectionCut } from './fault-injection.ts'
import { faultOfParser, NO_REQUEST, rawResponse } from './malformed-request.ts'
import type { Pipeline } from './pipeline.ts'
import type { Recorder } from './recorder.ts'
import { idHeadersIn, RequestIds } from './request-ids.ts'
import { RequestState } from './request-state.ts'
import { SocketRequests } from './socket-requests.ts'

const HEADER_BYTES_MAX = 16 * 1024
const HEADERS_MS_MAX = 30_000
const CONNECTIONS_MAX = 10_000

export interface ListenerParts {
  /** HTTPS with this certificate; plain HTTP without. */
  readonly certificate?: Certificate | undefined
  readonly pipeline: Pick<Pipeline, 'handle'> & Partial<Pick<Pipeline, 'readImmediately'>>
  readonly clock: Clock
  readonly random: Random
  readonly recorder: Recorder
  /** A response could not be sent; only its own connection closes. */
  readonly onError: (error: unknown, requestId: string) => void
}

const HTTP_OPTIONS = {
  maxHeaderSize: HEADER_BYTES_MAX,
  headersTimeout: HEADERS_MS_MAX,
  connectionsCheckingInterval: 5_000,
  requestTimeout: 0,
  // Announced to clients, so that they do not send on a connection that is about to close.
  keepAliveTimeout: TIMEOUTS.keepAliveMs - 5_000,
  requireHostHeader: false,
} as const

/** Raw headers are a flat list of names and values. */
function pairs(raw: readonly string[]): [string, string][] {
  const out: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) out.push([raw[i]!, raw[i + 1]!])
  return out
}

/** An exchange over a connection of this server. */
interface HttpExchange extends Exchange, InFlightRequest {
  readonly body: IncomingBytes
  readonly message: IncomingMessage
  readonly response: ServerResponse
  readonly connection: ClientConnection
  readonly writer: ResponseWriter
  /** Set once the response has begun before its result is known. */
  sendingEarly: Promise<void> | undefined
  /** The client waits for `100 Continue` before it sends its body. */
  awaitsContinue: boolean
}

/** For errors that are also reported elsewhere. */
const ignore = (): void => {}

export class Listener {
  readonly #parts: ListenerParts
  readonly #server: Server | SecureServer
  readonly #timeouts: Timeouts
  readonly #admission = new Admission()
  readonly #isSecure: boolean
  readonly #ids: RequestIds
  readonly #connections = new Map<Socket, ClientConnection>()
  readonly #socketRequests: SocketRequests | undefined
  readonly #handshakes: Handshakes | undefined
  #isClosing = false

  constructor(parts: ListenerParts) {
    this.#parts = parts
    this.#timeouts = new Timeouts(parts.clock)
    this.#ids = new RequestIds(parts.random)
    const { certificate } = parts
    this.#isSecure = certificate !== undefined
    this.#server =
      certificate !== undefined
        ? createSecureServer({ ...HTTP_OPTIONS, handshakeTimeout: HEADERS_MS_MAX, ...certificate })
        : createServer(HTTP_OPTIONS)
    this.#socketRequests = this.#onSocket()
    const event = this.#isSecure ? 'secureConnection' : 'connection'
    const takeOver = this.#socketRequests && takenFromRuntime(this.#server, event)
    this.#handshakes = certificate && new Handshakes(this.#server as SecureServer)
    this.#server.on(event, (socket: Socket) => this.#connected(socket, takeOver))
    const onRequest = (message: IncomingMessage, response: ServerResponse): void => this.#begin(message, response)
    this.#server.on('request', onRequest)
    // Without these listeners, Node would send 100 or 417 before the pipeline sees the request.
    this.#server.on('checkContinue', onRequest)
    this.#server.on('checkExpectation', onRequest)
    this.#server.maxConnections = CONNECTIONS_MAX
    // The pipeline limits the count; a limit here would silently drop the rest.
    this.#server.maxHeadersCount = 0
    // A client that has sent its last request gets the response, here as where the socket is read directly.
    if (!this.#isSecure) Object.assign(this.#server, { httpAllowHalfOpen: true })
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#broke(error.code, socket as Socket))
    this.#server.on('connect', (_message, socket) => this.#handedOver(socket as Socket))
  }

  #onSocket(): SocketRequests | undefined {
    const { pipeline, recorder, onError } = this.#parts
    if (pipeline.readImmediately === undefined || !REPORTS_WRITTEN_BYTES) return undefined
    return new SocketRequests({
      handle: exchange => pipeline.handle(exchange),
      readImmediately: (exchange, wholeBytesMax) => pipeline.readImmediately!(exchange, wholeBytesMax),
      recorder,
      onError,
      admission: this.#admission,
      timeouts: this.#timeouts,
      ids: this.#ids,
      isSecure: this.#isSecure,
      keepAliveSeconds: Math.floor(HTTP_OPTIONS.keepAliveTimeout / 1_000),
    })
  }

  listen(host: string, port: number): Promise<AddressInfo> {
    return listen(this.#server, host, port)
  }

  /** New connections use this certificate; false where the runtime cannot replace it. */
  renew(certificate: Certificate): boolean {
    return renew(this.#server, certificate)
  }

  /** Closes connections that exceed a timeout. One step; the server schedules it. */
  endOverdue(): void {
    this.#timeouts.check()
  }

  /** Accepts no new connections; requests in flight finish, idle connections close. */
  close(): Promise<void> {
    this.#isClosing = true
    const closed = stopListening(this.#server)
    this.#handshakes?.endAll()
    for (const connection of this.#connections.values()) connection.endWhenQuiet()
    return closed
  }

  /** Accepts no new connections and closes all open ones, including those with requests in flight. */
  async abort(): Promise<void> {
    const closed = this.close()
    this.#server.closeAllConnections()
    for (const connection of this.#connections.values()) connection.expire()
    await closed
  }

  /** Closes connections with a request in flight, without waiting for it. */
  endBusy(): void {
    for (const connection of this.#connections.values()) if (connection.isBusy) connection.expire()
  }

  #connected(accepted: Socket, takeOver: ReturnType<typeof takenFromRuntime> | undefined): void {
    // Its handshake took longer than the server listened.
    if (this.#isClosing) return void accepted.destroy()
    const socket = takeOver === undefined || this.#isSecure ? accepted : withSharedBuffer(accepted)
    const connection = new ClientConnection(socket, this.#timeouts)
    this.#connections.set(socket, connection)
    // Every queued response listens for the close event; `ClientConnection` bounds their number.
    socket.setMaxListeners(0)
    this.#timeouts.begin(connection)
    socket.once('close', () => {
      this.#connections.delete(socket)
      this.#timeouts.end(connection)
    })
    if (takeOver === undefined) return
    this.#socketRequests?.serve(connection, bytes => {
      connection.heard()
      takeOver.call(this.#server, socket)
      socket.emit('data', bytes)
    })
  }

  /** The bytes on a connection could not be parsed as a request, or as the rest of one. */
  #broke(code: string | undefined, socket: Socket): void {
    // The client announced the previous request as its last, and its response is sent or pending.
    if (code === 'HPE_CLOSED_CONNECTION') return
    const connection = this.#connections.get(socket)
    if (!socket.writable || connection === undefined) return void socket.destroy()
    const fault = faultOfParser(code)
    connection.break(fault, () => this.#refuse(fault, socket))
  }

  /** CONNECT detaches the socket: the runtime no longer sends pending responses or handles errors on it. */
  #handedOver(socket: Socket): void {
    socket.on('error', ignore)
    const connection = this.#connections.get(socket)
    if (connection === undefined || connection.isBusy) return void socket.destroy()
    const fault = new Fault('MethodNotAllowed', { Method: 'CONNECT' })
    connection.break(fault, () => this.#refuse(fault, socket))
  }

  #refuse(fault: Fault, socket: Socket): void {
    const { recorder, clock } = this.#parts
    const ids = { requestId: this.#ids.next(), hostId: this.#ids.hostId }
    const state = new RequestState()
    const message = String(fault.detail.reason ?? fault.message)
    state.response = { status: fault.status, headers: [], body: undefined, close: true, message }
    state.code = fault.code
    const record: ExchangeRecord = {
      ...ids,
      request: NO_REQUEST,
      remoteAddress: socket.remoteAddress ?? '',
      secure: this.#isSecure,
      status: fault.status,
      milliseconds: 0,
      aborted: false,
      receivedBytes: 0,
      sentBytes: 0,
      totalMilliseconds: 0,
    }
    recorder.decided(state, record)
    recorder.ended(state, record)
    socket.on('error', ignore)
    socket.end(rawResponse(fault, ids, clock.now()))
  }

  #begin(message: IncomingMessage, response: ServerResponse): void {
    response.on('error', ignore)
    const { method = '', url = '', socket } = message
    // The runtime parses headers only on access, which costs more than a small object.
    const request = { method, target: url, headers: pairs(message.rawHeaders) }
    const connection = this.#connections.get(socket) ?? new ClientConnection(socket, this.#timeouts)
    if (!isSpokenVersion(message.httpVersion)) {
      connection.endsWithAnswer()
      this.#broke('HPE_INVALID_VERSION', socket)
      return
    }
    const exchange: HttpExchange = {
      requestId: this.#ids.next(),
      hostId: this.#ids.hostId,
      request,
      body: new IncomingBytes(message, this.#timeouts, request),
      remoteAddress: connection.remoteAddress,
      secure: this.#isSecure,
      tls: connection.tls,
      slot: this.#admission.enter(),
      sendContinue: () => {
        if (exchange.awaitsContinue) exchange.writer.sendContinue()
        exchange.awaitsContinue = false
      },
      beginEarly: (early, dialect) => this.#beginEarly(early, dialect, exchange),
      status: 0,
      milliseconds: 0,
      aborted: false,
      receivedBytes: 0,
      sentBytes: 0,
      totalMilliseconds: 0,
      message,
      response,
      connection,
      writer: new ResponseWriter(response, connection.socket, this.#timeouts),
      sendingEarly: undefined,
      awaitsContinue: message.httpVersion !== '1.0' && (headerValue(request, 'expect') ?? '') !== '',
      isSafe: method === 'GET' || method === 'HEAD',
      served: undefined,
    }
    this.#parts.recorder.begun()
    connection.begin(
      exchange,
      () => this.#serve(exchange),
      () => this.#leave(exchange),
    )
  }

  /** Runs however a request ended, even if it was never served. */
  #leave(exchange: HttpExchange): void {
    exchange.slot.leave()
    exchange.connection.end(exchange)
    this.#parts.recorder.left()
  }

  /** Never throws or rejects: an error closes only the connection of its request. */
  #serve(exchange: HttpExchange): MaybePromise<void> {
    const started = performance.now()
    const state = exchange.isSafe ? this.#parts.pipeline.readImmediately?.(exchange) : undefined
    if (!(state instanceof RequestState)) return this.#serveInSteps(exchange, started, state)
    let sending: MaybePromise<void> | undefined
    try {
      sending = this.#respond(exchange, started, state)
    } catch (error) {
      this.#fail(exchange, error)
    } finally {
      if (!(sending instanceof Promise)) this.#leave(exchange)
    }
    return sending?.catch(error => this.#fail(exchange, error)).finally(() => this.#leave(exchange))
  }

  async #serveInSteps(
    exchange: HttpExchange,
    started: number,
    reading: MaybePromise<RequestState | undefined>,
  ): Promise<void> {
    try {
      const state = (reading && (await reading)) ?? (await this.#parts.pipeline.handle(exchange))
      const sending = this.#respond(exchange, started, state)
      if (sending instanceof Promise) await sending
    } catch (error) {
      this.#fail(exchange, error)
    } finally {
      this.#leave(exchange)
    }
  }

  /** Records and sends a decided response. */
  #respond(exchange: HttpExchange, started: number, state: RequestState): MaybePromise<void> {
    const { recorder } = this.#parts
    const { connection, body } = exchange
    if (exchange.sendingEarly === undefined) exchange.status = state.response.status
    exchange.milliseconds = performance.now() - started
    exchange.aborted = connection.socket.destroyed || body.isAbandoned
    recorder.decided(state, exchange)
    let sending: MaybePromise<void> | undefined
    try {
      state.early?.end(state.response)
      sending = exchange.sendingEarly ?? this.#send(state.response, state.dialect, exchange)
    } finally {
      if (!(sending instanceof Promise)) this.#sent(exchange, started, state)
    }
    return sending?.finally(() => this.#sent(exchange, started, state))
  }

  /** The response was handed to the connection, or broke off. */
  #sent(exchange: HttpExchange, started: number, state: RequestState): void {
    const { connection, body, writer } = exchange
    exchange.totalMilliseconds = performance.now() - started
    exchange.receivedBytes = body.bytes
    exchange.sentBytes = writer.bytes
    connection.sent(writer.bytes)
    this.#parts.recorder.ended(state, exchange)
  }

  #fail({ response, connection, requestId }: HttpExchange, error: unknown): void {
    if (!(error instanceof ConnectionCut)) this.#parts.onError(error, requestId)
    breakOff(response, connection.socket)
  }

  #beginEarly(response: WireResponse, dialect: Dialect, exchange: HttpExchange): void {
    exchange.status = response.status
    exchange.sendingEarly = new Promise(resolve => resolve(this.#send(response, dialect, exchange)))
    // A failure, also to write the head, is reported when the result is known.
    exchange.sendingEarly.catch(ignore)
  }

  #send(outgoing: WireResponse, dialect: Dialect, exchange: HttpExchange): MaybePromise<void> {
    const { request, writer } = exchange
    // An unread body is not drained: the connection closes instead.
    const { isUnread } = exchange.body
    const headers: string[] = []
    for (const [name, value] of outgoing.headers) headers.push(name, value)
    const { requestIdHeader, hostIdHeader } = idHeadersIn(dialect)
    headers.push(requestIdHeader, exchange.requestId, hostIdHeader, exchange.hostId)
    if (isUnread || outgoing.close || exchange.connection.endsNow) {
      headers.push('connection', 'close')
      exchange.connection.endsWithAnswer()
    }
    writer.head(outgoing.status, headers, outgoing.body)
    const body = request.method === 'HEAD' ? undefined : outgoing.body
    if (isUnread) return this.#endUnread(body, exchange)
    return body === undefined || Buffer.isBuffer(body) ? writer.end(body) : writer.stream(body)
  }

  async #endUnread(body: WireResponse['body'], exchange: HttpExchange): Promise<void> {
    const { writer } = exchange
    if (body !== undefined && !Buffer.isBuffer(body)) await writer.stream(body)
    else if (exchange.awaitsContinue || exchange.body.isCut) await writer.end(body)
    else {
      // Draining may take a while, and must not hold a slot meanwhile.
      exchange.slot.leave()
      await writer.endUnread(body, exchange.body, exchange.connection.mayHaveUnreadResponse)
    }
    exchange.message.socket?.end()
  }
}

/**
 * Plain reads without the runtime's HTTP implementation, which costs more than such a read itself. A new connection is
 * read here: a request that arrives as one plain head, and that the fast path answers with few bytes, is answered on
 * the socket. The first other request hands the connection to the runtime for good, with the bytes that have arrived.
 */
import type { Admission } from '../http/admission.ts'
import type { ClientConnection, InFlightRequest } from '../http/connection.ts'
import { flushed } from '../http/flushed.ts'
import { HoldableInput } from '../http/holdable-input.ts'
import { type PlainHead, parsePlainHead } from '../http/plain-head.ts'
import { RepeatedHeads } from '../http/repeated-heads.ts'
import { headerLines, responseHead } from '../http/response-head.ts'
import type { Timeouts } from '../http/timeouts.ts'
import { WriteStride } from '../http/write-stride.ts'
import { returnChunk } from '../lib/buffer-pool.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Exchange } from './exchange.ts'
import type { Pipeline } from './pipeline.ts'
import type { Recorder } from './recorder.ts'
import { idHeadersIn, type RequestIds } from './request-ids.ts'
import type { RequestState } from './request-state.ts'
import { SignedHeads } from './signed-head.ts'

/** Larger bodies are streams, which the runtime's responses take. */
const BODY_BYTES_MAX = 2 ** 20
/** The same while many bodies are in memory, for a disk or for their clients. */
const SHORT_BODY_BYTES_MAX = 128 * 1024
const PENDING_MAX = 32

interface SocketReadsParts {
  readonly readImmediately: Pipeline['readImmediately']
  readonly recorder: Recorder
  readonly admission: Admission
  readonly timeouts: Timeouts
  readonly ids: RequestIds
  readonly isSecure: boolean
  readonly keepAliveSeconds: number
  readonly onError: (error: unknown, requestId: string) => void
}

const NO_BODY = {
  isWhole: true,
  cut(): void {},
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {},
}

interface SocketExchange extends Exchange, InFlightRequest {
  readonly body: typeof NO_BODY
  readonly connection: ClientConnection
  readonly started: number
  /** The client asked for its connection to be closed after the response. */
  readonly isLast: boolean
}

/** A connection that was not handed over yet. */
interface ServedHere {
  readonly connection: ClientConnection
  readonly input: HoldableInput
  leave(bytes: Buffer): void
}

const ignore = (): void => {}

export class SocketReads {
  readonly #parts: SocketReadsParts
  readonly #signedHeads = new SignedHeads()
  readonly #heads = new RepeatedHeads(
    (bytes, isShared) => this.#signedHeads.parse(bytes, isShared) ?? parsePlainHead(bytes, isShared),
  )
  /** Responses whose bytes are not read yet, or not taken by the kernel. */
  #pending = 0

  constructor(parts: SocketReadsParts) {
    this.#parts = parts
  }

  /** Reads a new connection; `handOver` gets the bytes of the first request that is not answered here. */
  serve(connection: ClientConnection, handOver: (bytes: Buffer) => void): void {
    const { socket } = connection
    const leave = (bytes: Buffer): void => {
      const held = input.stop()
      socket.off('end', onEnd)
      handOver(held === undefined ? bytes : Buffer.concat([bytes, held]))
    }
    const input = new HoldableInput(socket, bytes => {
      if (!this.#isTaken({ connection, input, leave }, bytes)) leave(Buffer.from(bytes))
    })
    // The client sends no further request.
    const onEnd = (): void => {
      if (!connection.isBusy) socket.end()
      else connection.endWhenQuiet()
    }
    socket.on('error', ignore)
    socket.on('end', onEnd)
  }

  #isTaken({ connection, input, leave }: ServedHere, bytes: Buffer): boolean {
    const head = connection.isBusy ? undefined : this.#heads.get(bytes)
    if (head === undefined) return false
    const exchange = this.#exchangeOf(connection, head)
    const bodyBytesMax = this.#pending < PENDING_MAX ? BODY_BYTES_MAX : SHORT_BODY_BYTES_MAX
    const reading = this.#parts.readImmediately(exchange, bodyBytesMax)
    if (reading === undefined) {
      exchange.slot.leave()
      return false
    }
    this.#parts.recorder.begun()
    const serve = (): MaybePromise<void> => {
      const serving =
        reading instanceof Promise
          ? this.#answerLater(exchange, reading, { input, handOver: leave.bind(undefined, Buffer.from(bytes)) })
          : this.#answer(exchange, reading)
      return serving instanceof Promise ? this.#counted(serving) : undefined
    }
    connection.begin(exchange, serve, () => this.#leave(exchange))
    return true
  }

  async #counted(serving: Promise<void>): Promise<void> {
    this.#pending++
    try {
      await serving
    } finally {
      this.#pending--
    }
  }

  #exchangeOf(connection: ClientConnection, { request, isLast }: PlainHead): SocketExchange {
    const { ids, admission, isSecure } = this.#parts
    return {
      requestId: ids.next(),
      hostId: ids.hostId,
      request,
      body: NO_BODY,
      remoteAddress: connection.remoteAddress,
      secure: isSecure,
      tlsVersion: connection.tlsVersion,
      slot: admission.enter(),
      sendContinue: ignore,
      beginEarly: ignore,
      status: 0,
      milliseconds: 0,
      aborted: false,
      receivedBytes: 0,
      sentBytes: 0,
      totalMilliseconds: 0,
      isSafe: true,
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
    { input, handOver }: { readonly input: HoldableInput; readonly handOver: () => void },
  ): Promise<void> {
    input.hold()
    const state = await reading
    if (state !== undefined) {
      await this.#answer(exchange, state)
      input.release()
      return
    }
    // Before this exchange ends: a server that stops closes a connection that has none.
    if (!exchange.connection.socket.destroyed) handOver()
    this.#leave(exchange)
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
      sending = this.#send(exchange, state)
    } catch (error) {
      this.#fail(exchange, error)
    }
    if (!(sending instanceof Promise)) return this.#end(exchange, state)
    return sending.catch(error => this.#fail(exchange, error)).then(() => this.#end(exchange, state))
  }

  #fail({ connection, requestId }: SocketExchange, error: unknown): void {
    this.#parts.onError(error, requestId)
    connection.socket.destroy()
  }

  #send(exchange: SocketExchange, { response, dialect }: RequestState): MaybePromise<void> {
    const { isLast, requestId, hostId, request, connection } = exchange
    const { status, body } = response
    const { requestIdHeader, hostIdHeader } = idHeadersIn(dialect)
    const { socket } = connection
    const { keepAliveSeconds, timeouts } = this.#parts
    const lines = `${headerLines(response.headers)}${requestIdHeader}: ${requestId}\r\n${hostIdHeader}: ${hostId}\r\n`
    const head = responseHead({ status, lines, isLast, keepAliveSeconds, now: timeouts.clock.now() })
    if (isLast) connection.endsWithAnswer()
    if (request.method === 'HEAD' || body === undefined) socket.write(head, 'latin1')
    else {
      const { length } = body as Buffer
      if (length > SHORT_BODY_BYTES_MAX) return this.#sendInPieces(exchange, head, body as Buffer)
      exchange.sentBytes = length
      socket.cork()
      socket.write(head, 'latin1')
      socket.write(body as Buffer)
      socket.uncork()
    }
    return flushed(socket, timeouts)
  }

  /** Each piece has its own time to drain. Until the last the socket is not read: no response may get in between. */
  #sendInPieces(exchange: SocketExchange, head: string, body: Buffer): MaybePromise<void> {
    const { timeouts } = this.#parts
    const { socket } = exchange.connection
    const stride = new WriteStride(timeouts.clock)
    const sendRest = (): MaybePromise<void> => {
      while (exchange.sentBytes < body.length && !socket.destroyed) {
        const piece = body.subarray(exchange.sentBytes, exchange.sentBytes + stride.bytes)
        stride.begin()
        socket.cork()
        if (exchange.sentBytes === 0) socket.write(head, 'latin1')
        socket.write(piece)
        socket.uncork()
        exchange.sentBytes += piece.length
        const waiting = flushed(socket, timeouts)
        if (waiting instanceof Promise) {
          return waiting.then(() => {
            stride.end()
            return sendRest()
          })
        }
        stride.end()
      }
    }
    const sending = sendRest()
    if (!(sending instanceof Promise)) return undefined
    socket.pause()
    return sending.finally(() => socket.resume())
  }

  /** The response was handed to the connection, or broke off. */
  #end(exchange: SocketExchange, state: RequestState): void {
    const { connection, sentBytes, started } = exchange
    const { socket } = connection
    const { body } = state.response
    exchange.totalMilliseconds = performance.now() - started
    connection.sent(sentBytes)
    // On a lost connection the kernel may never have taken the bytes.
    if (sentBytes > 0 && socket.writableLength === 0 && !socket.destroyed) returnChunk(body as Buffer)
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

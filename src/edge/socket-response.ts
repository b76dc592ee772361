/** Writes responses to a socket as the runtime's HTTP implementation would. */
import type { Socket } from 'node:net'
import type { ClientConnection } from '../http/connection.ts'
import { flushed } from '../http/flushed.ts'
import { headerLines, responseHead } from '../http/response-head.ts'
import type { Timeouts } from '../http/timeouts.ts'
import type { WholeBody } from '../http/whole-body.ts'
import { WriteStride } from '../http/write-stride.ts'
import { returnChunk } from '../lib/buffer-pool.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Exchange } from './exchange.ts'
import { idHeadersIn } from './request-ids.ts'
import type { RequestState } from './request-state.ts'

/** Longer bodies are written in pieces. */
export const SHORT_BODY_BYTES_MAX = 128 * 1024
/** A client that reads as fast as the server writes must not keep it from serving others. */
const UNPAUSED_BYTES_MAX = 2 ** 20

interface SocketResponse extends Exchange {
  readonly connection: ClientConnection
  readonly body: WholeBody
  /** The connection closes after the response: its client asked for that, or the server announces it. */
  isLast: boolean
}

export class SocketResponses {
  readonly #timeouts: Timeouts
  readonly #keepAliveSeconds: number

  constructor(timeouts: Timeouts, keepAliveSeconds: number) {
    this.#timeouts = timeouts
    this.#keepAliveSeconds = keepAliveSeconds
  }

  /** A promise that is returned resolves when the kernel has taken everything, or the connection is gone. */
  send(exchange: SocketResponse, { response, dialect }: RequestState): MaybePromise<void> {
    const { requestId, hostId, request, connection } = exchange
    const { status, body } = response
    const { requestIdHeader, hostIdHeader } = idHeadersIn(dialect)
    const lines = `${headerLines(response.headers)}${requestIdHeader}: ${requestId}\r\n${hostIdHeader}: ${hostId}\r\n`
    const [keepAliveSeconds, now] = [this.#keepAliveSeconds, this.#timeouts.clock.now()]
    const byServer = response.close || exchange.body.isUnread || connection.endsNow
    const closing = byServer ? 'by server' : exchange.isLast ? 'by client' : undefined
    const head = responseHead({ status, lines, closing, keepAliveSeconds, now })
    if (closing !== undefined) {
      exchange.isLast = true
      connection.endsWithAnswer()
    }
    const { socket } = connection
    if (request.method === 'HEAD' || body === undefined) socket.write(head, 'latin1')
    else if (!Buffer.isBuffer(body)) return this.#stream(exchange, head, body)
    else if (body.length > SHORT_BODY_BYTES_MAX) return this.#sendWhole(exchange, head, body)
    else {
      exchange.sentBytes = body.length
      socket.cork()
      socket.write(head, 'latin1')
      socket.write(body)
      socket.uncork()
    }
    return flushed(socket, this.#timeouts)
  }

  /** Until the last piece the socket is not read: no response may get in between. */
  #sendWhole(exchange: SocketResponse, head: string, body: Buffer): MaybePromise<void> {
    const { socket } = exchange.connection
    const sending = this.#writePieces(exchange, head, body, new WriteStride(this.#timeouts.clock))
    if (sending === undefined) return undefined
    socket.pause()
    return sending.finally(() => socket.resume())
  }

  /** Each piece has its own time to drain. */
  #writePieces(
    exchange: SocketResponse,
    head: string | undefined,
    chunk: Buffer,
    stride: WriteStride,
  ): Promise<void> | undefined {
    const { socket } = exchange.connection
    let at = 0
    const writeRest = (): Promise<void> | undefined => {
      while (at < chunk.length && !socket.destroyed) {
        const piece = chunk.subarray(at, at + stride.bytes)
        stride.begin()
        writePiece(socket, at === 0 ? head : undefined, piece)
        at += piece.length
        exchange.sentBytes += piece.length
        const waiting = flushed(socket, this.#timeouts)
        if (waiting instanceof Promise) {
          return waiting.then(() => {
            stride.end()
            return writeRest()
          })
        }
        stride.end()
      }
      return undefined
    }
    return writeRest()
  }

  /** Rethrows the body's error. */
  async #stream(exchange: SocketResponse, head: string, body: AsyncIterable<Buffer>): Promise<void> {
    const { socket } = exchange.connection
    const stride = new WriteStride(this.#timeouts.clock)
    let unsent: string | undefined = head
    let unpaused = 0
    for await (const chunk of body) {
      if (socket.destroyed) return
      if (chunk.length === 0) continue
      const writing = this.#writePieces(exchange, unsent, chunk, stride)
      unsent = undefined
      unpaused += chunk.length
      if (writing !== undefined) await writing
      if (writing === undefined && unpaused >= UNPAUSED_BYTES_MAX) await new Promise(setImmediate)
      if (writing !== undefined || unpaused >= UNPAUSED_BYTES_MAX) unpaused = 0
      // On a lost connection the kernel may never have taken the bytes.
      if (!socket.destroyed) returnChunk(chunk)
    }
    if (unsent !== undefined) socket.write(unsent, 'latin1')
    await flushed(socket, this.#timeouts)
  }
}

function writePiece(socket: Socket, head: string | undefined, piece: Buffer): void {
  if (head === undefined) return void socket.write(piece)
  socket.cork()
  socket.write(head, 'latin1')
  socket.write(piece)
  socket.uncork()
}

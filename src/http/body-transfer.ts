/** Sends responses at the speed of their clients: one that its client does not read closes the connection. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { returnChunk } from '../lib/buffer-pool.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { abandon, readerOf } from '../lib/piece-stream.ts'
import { REPORTS_WRITTEN_BYTES } from '../lib/runtime.ts'
import { breakOff } from './break-off.ts'
import type { DiscardLimits, IncomingBytes } from './incoming-bytes.ts'
import { type PendingWait, TIMEOUTS, type Timeouts } from './timeouts.ts'
import { WriteStride } from './write-stride.ts'

/** Bytes drained from an unread body before its connection is closed. */
const LINGER: DiscardLimits = { bytesMax: 256 * 1024, ms: TIMEOUTS.lingerMs, waitsBeyond: false }
/**
 * Used where earlier responses may be unread: closing the connection would lose them. A client that sends all its
 * requests before it reads may need this much.
 */
const LINGER_UNREAD_RESPONSE: DiscardLimits = {
  bytesMax: 4 * 2 ** 20,
  ms: TIMEOUTS.unreadResponseMs,
  waitsBeyond: true,
}

/** A client that reads as fast as the server writes must not keep it from serving others. */
const UNPAUSED_BYTES_MAX = 2 ** 20

/** Resolves on one of these events, or when the connection has closed or timed out. */
function happens(
  on: { readonly response: ServerResponse; readonly socket: Socket; readonly timeouts: Timeouts },
  event: 'drain' | 'finish',
): Promise<void> {
  const { response, socket, timeouts } = on
  return new Promise(resolve => {
    const since = timeouts.clock.now()
    const wait: PendingWait = {
      // A response queued behind another has no socket yet and cannot drain.
      isOver: now => response.socket !== null && now - since >= TIMEOUTS.responseStallMs,
      expire: () => socket.destroy(),
    }
    const done = (): void => {
      timeouts.end(wait)
      response.off(event, done)
      response.off('close', done)
      socket.off('close', done)
      resolve()
    }
    response.on(event, done)
    response.on('close', done)
    // A queued response emits no event when its connection closes, so listen on the socket as well.
    socket.on('close', done)
    timeouts.begin(wait)
    if (socket.destroyed) done()
  })
}

/** Sends one response. */
export class ResponseWriter {
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #timeouts: Timeouts
  readonly #stride: WriteStride
  /** Bytes written since this response last waited. */
  #unpaused = 0
  /** Body bytes handed to the connection. */
  bytes = 0

  constructor(response: ServerResponse, socket: Socket, timeouts: Timeouts) {
    this.#response = response
    this.#socket = socket
    this.#timeouts = timeouts
    this.#stride = new WriteStride(timeouts.clock)
  }

  #happens(event: 'drain' | 'finish'): Promise<void> {
    return happens({ response: this.#response, socket: this.#socket, timeouts: this.#timeouts }, event)
  }

  /** A pipelined request waits for its turn: sent earlier, the line would end up inside the previous response. */
  sendContinue(): void {
    const send = (): void => {
      if (!this.#response.headersSent) this.#response.writeContinue()
    }
    if (this.#response.socket === null) this.#response.once('socket', send)
    else send()
  }

  /** Throws on a header that cannot be sent. The body is given up then, because nothing will read it. */
  head(status: number, headers: readonly string[], body: Buffer | AsyncIterable<Buffer> | undefined): void {
    try {
      this.#response.writeHead(status, headers as unknown as Record<string, string>)
    } catch (error) {
      if (body !== undefined && !Buffer.isBuffer(body)) void abandon(readerOf(body))
      throw error
    }
  }

  /** Ends the response and waits until it has drained: until then its bytes stay in memory. */
  end(body: Buffer | undefined): MaybePromise<void> {
    this.bytes += body?.length ?? 0
    this.#response.end(body)
    // A small response is already in the kernel's buffer.
    if (this.#response.writableLength > 0) return this.#happens('finish').then(() => this.#return(body))
    this.#return(body)
    return undefined
  }

  /** On a lost connection the kernel may never have taken the bytes. */
  #return(chunk: Buffer | undefined): void {
    if (chunk !== undefined && this.#response.writableLength === 0 && !this.#socket.destroyed) returnChunk(chunk)
  }

  #write(piece: Buffer): MaybePromise<void> {
    if (this.#unpaused >= UNPAUSED_BYTES_MAX) {
      this.#unpaused = 0
      return new Promise(setImmediate).then(() => this.#write(piece))
    }
    this.bytes += piece.length
    this.#unpaused += piece.length
    this.#stride.begin()
    if (this.#response.write(piece) || this.#isFlushed()) return this.#stride.end()
    this.#unpaused = 0
    return this.#happens('drain').then(() => this.#stride.end())
  }

  /** The runtime holds writes back until the end of the turn; true if the kernel takes all of them now. */
  #isFlushed(): boolean {
    if (!REPORTS_WRITTEN_BYTES || this.#response.socket !== this.#socket) return false
    this.#socket.uncork()
    return this.#socket.writableLength === 0
  }

  /** Rethrows the body's error. A response that breaks off closes its connection, so that it never looks complete. */
  async stream(body: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const chunk of body) {
        for (let at = 0; at < chunk.length; ) {
          if (this.#response.destroyed || this.#socket.destroyed) return
          const piece = chunk.subarray(at, at + this.#stride.bytes)
          at += piece.length
          const writing = this.#write(piece)
          if (writing instanceof Promise) await writing
        }
        this.#return(chunk)
      }
    } catch (error) {
      breakOff(this.#response, this.#socket)
      throw error
    }
    await this.end(undefined)
  }

  /**
   * The last response on a connection whose client is still sending. Some of that is drained: closing at once would
   * reset the connection, and the client might never see the response.
   */
  async endUnread(body: Buffer | undefined, unread: IncomingBytes, mayOwe: boolean): Promise<void> {
    if (body === undefined) this.#response.flushHeaders()
    else this.#response.write(body)
    this.bytes += body?.length ?? 0
    await unread.discard(mayOwe ? LINGER_UNREAD_RESPONSE : LINGER)
    // Earlier responses on the connection have not been sent yet.
    await this.end(undefined)
    this.#socket.end()
  }
}

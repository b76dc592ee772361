/** Sends answers as fast as their clients take them. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { breakOff } from './break-off.ts'
import type { DiscardLimits, IncomingBytes } from './incoming-bytes.ts'
import { type PendingWait, TIMEOUTS, type Timeouts } from './timeouts.ts'

/** Bytes that a client may still send of an unread body before its connection is cut. */
const LINGER: DiscardLimits = { bytesMax: 256 * 1024, ms: TIMEOUTS.lingerMs, waitsBeyond: false }
/**
 * The same, where it may not have taken the answers before that one: cutting the connection would take those from it.
 * Whoever sends everything before it reads anything gets so far with it.
 */
const LINGER_UNREAD_RESPONSE: DiscardLimits = {
  bytesMax: 4 * 2 ** 20,
  ms: TIMEOUTS.unreadResponseMs,
  waitsBeyond: true,
}

/**
 * What was written has a minute to be taken. From a client that takes little at a time no more is asked than a piece of
 * this size, about 1 KB a second; one that is fast gets larger ones, which cost less.
 */
const STRIDE_BYTES_MIN = 64 * 1024
const STRIDE_BYTES_MAX = 512 * 1024
const FAST_MS = 1_000

/** Resolves when one of these happens, or when the connection is gone, or ended because it took too long. */
function happens(
  on: { readonly response: ServerResponse; readonly socket: Socket; readonly timeouts: Timeouts },
  event: 'drain' | 'finish',
): Promise<void> {
  const { response, socket, timeouts } = on
  return new Promise(resolve => {
    const since = timeouts.now()
    const wait: PendingWait = {
      // An answer that stands behind another one on its connection has no socket yet, and cannot be taken.
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
    // An answer that waits behind another one is never told that its connection is gone: the socket is asked as well.
    socket.on('close', done)
    timeouts.begin(wait)
    if (socket.destroyed) done()
  })
}

export class ResponseWriter {
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #timeouts: Timeouts
  /** So many bytes are written at once, as fast as this client has been so far. */
  #stride = STRIDE_BYTES_MIN
  /** Bytes of the body that were handed to the connection. */
  bytes = 0

  constructor(response: ServerResponse, socket: Socket, timeouts: Timeouts) {
    this.#response = response
    this.#socket = socket
    this.#timeouts = timeouts
  }

  #happens(event: 'drain' | 'finish'): Promise<void> {
    return happens({ response: this.#response, socket: this.#socket, timeouts: this.#timeouts }, event)
  }

  /** Ends the answer, and waits until it has been taken: until then it holds its bytes. */
  end(body: Buffer | undefined): MaybePromise<void> {
    this.bytes += body?.length ?? 0
    this.#response.end(body)
    // An answer that is not large has gone to the kernel by now, and nothing of it waits here.
    return this.#response.writableLength > 0 ? this.#happens('finish') : undefined
  }

  async #write(piece: Buffer): Promise<void> {
    this.bytes += piece.length
    const since = this.#timeouts.now()
    if (!this.#response.write(piece)) await this.#happens('drain')
    const isFast = this.#timeouts.now() - since < FAST_MS
    this.#stride = isFast ? Math.min(2 * this.#stride, STRIDE_BYTES_MAX) : STRIDE_BYTES_MIN
  }

  /** Throws what the body throws. An answer that breaks off ends its connection, never as if it were complete. */
  async stream(body: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const chunk of body) {
        for (let at = 0; at < chunk.length; ) {
          if (this.#response.destroyed || this.#socket.destroyed) return
          const piece = chunk.subarray(at, at + this.#stride)
          at += piece.length
          await this.#write(piece)
        }
      }
    } catch (error) {
      breakOff(this.#response, this.#socket)
      throw error
    }
    await this.end(undefined)
  }

  /**
   * The last answer on a connection whose client is still sending. A little of that is read and thrown away: closing at
   * once would reset the connection, and the client might never see why.
   */
  async endUnread(body: Buffer | undefined, unread: IncomingBytes, mayOwe: boolean): Promise<void> {
    if (body === undefined) this.#response.flushHeaders()
    else this.#response.write(body)
    this.bytes += body?.length ?? 0
    await unread.discard(mayOwe ? LINGER_UNREAD_RESPONSE : LINGER)
    // Answers that stand before it on the connection have not been sent yet.
    await this.end(undefined)
    this.#socket.end()
  }
}

/** Sends answers as fast as their clients take them. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { outgoingBuffers } from '../lib/lent-buffers.ts'
import type { IncomingBytes } from './incoming-bytes.ts'
import { PATIENCE, type Patience, type Wait } from './patience.ts'

/** What a client may still send of a body that nobody reads, before its connection is cut. */
const DISCARDED_BYTES_MAX = 256 * 1024

/** Resolves when one of these happens, or when the connection is gone, or ended because it took too long. */
function happens(
  on: { readonly response: ServerResponse; readonly socket: Socket; readonly patience: Patience },
  event: 'drain' | 'finish',
): Promise<void> {
  const { response, socket, patience } = on
  return new Promise(resolve => {
    const since = patience.now()
    const wait: Wait = {
      // An answer that stands behind another one on its connection has no socket yet, and cannot be taken.
      isOver: now => response.socket !== null && now - since >= PATIENCE.untakenMs,
      giveUp: () => socket.destroy(),
    }
    const done = (): void => {
      patience.end(wait)
      response.off(event, done)
      response.off('close', done)
      socket.off('close', done)
      resolve()
    }
    response.on(event, done)
    response.on('close', done)
    // An answer that waits behind another one is never told that its connection is gone: the socket is asked as well.
    socket.on('close', done)
    patience.begin(wait)
    if (socket.destroyed) done()
  })
}

export class Sending {
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #patience: Patience
  /** Bytes of the body that were handed to the connection. */
  bytes = 0

  constructor(response: ServerResponse, socket: Socket, patience: Patience) {
    this.#response = response
    this.#socket = socket
    this.#patience = patience
  }

  #happens(event: 'drain' | 'finish'): Promise<void> {
    return happens({ response: this.#response, socket: this.#socket, patience: this.#patience }, event)
  }

  /** Ends the answer, and waits until it has been taken: until then it holds its bytes. */
  async end(body: Buffer | undefined): Promise<void> {
    this.bytes += body?.length ?? 0
    this.#response.end(body)
    // An answer that is not large has gone to the kernel by now, and nothing of it waits here.
    if (this.#response.writableLength > 0) await this.#happens('finish')
  }

  /** Throws what the body throws. An answer that breaks off ends its connection, never as if it were complete. */
  async stream(body: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const chunk of body) {
        if (this.#response.destroyed || this.#socket.destroyed) return
        this.bytes += chunk.length
        // Only a write that succeeded is known to be done with the bytes: others may still hold them for a while.
        const taken = (error?: Error | null): void => {
          if (error === undefined || error === null) outgoingBuffers.giveBack(chunk)
        }
        if (!this.#response.write(chunk, taken)) await this.#happens('drain')
      }
    } catch (error) {
      this.#response.destroy()
      throw error
    }
    await this.end(undefined)
  }

  /**
   * The last answer on a connection whose client is still sending. A little of that is read and thrown away: closing at
   * once would reset the connection, and the client might never see why.
   */
  async endUnread(body: Buffer | undefined, unread: IncomingBytes): Promise<void> {
    if (body === undefined) this.#response.flushHeaders()
    else this.#response.write(body)
    this.bytes += body?.length ?? 0
    await unread.discard(DISCARDED_BYTES_MAX)
    // Answers that stand before it on the connection have not been sent yet.
    await this.end(undefined)
    this.#socket.end()
  }
}

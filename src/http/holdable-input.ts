import type { Socket } from 'node:net'
import { onBytes } from './shared-buffer-socket.ts'

/**
 * The bytes that a connection receives. While they are held, the socket is still read, so that a client that has
 * disconnected is noticed, until there is something to hold.
 */
export class HoldableInput {
  readonly #socket: Socket
  readonly #take: (bytes: Buffer) => void
  readonly #stop: () => void
  #isHolding = false
  #held: Buffer | undefined

  /** The listener gets bytes that are valid until it returns. */
  constructor(socket: Socket, take: (bytes: Buffer) => void) {
    this.#socket = socket
    this.#take = take
    this.#stop = onBytes(socket, bytes => {
      if (this.#isHolding) this.#hold(bytes)
      else take(bytes)
    })
  }

  #hold(bytes: Buffer): void {
    this.#held = this.#held === undefined ? Buffer.from(bytes) : Buffer.concat([this.#held, bytes])
    this.#socket.pause()
  }

  hold(): void {
    this.#isHolding = true
  }

  /** The listener gets what was held, unless the connection is gone. */
  release(): void {
    const held = this.#endHolding()
    if (held !== undefined && !this.#socket.destroyed) this.#take(held)
  }

  #endHolding(): Buffer | undefined {
    const held = this.#held
    this.#isHolding = false
    this.#held = undefined
    if (held !== undefined) this.#socket.resume()
    return held
  }

  /** The listener gets nothing more; returns what was held. */
  stop(): Buffer | undefined {
    this.#stop()
    return this.#endHolding()
  }
}

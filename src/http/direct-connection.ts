import { ownCopy } from '../lib/bytes.ts'
import { systemClock } from '../lib/clock.ts'
import type { ClientConnection } from './connection.ts'
import { HoldableInput } from './holdable-input.ts'

/**
 * Clients often send a head and its body one after the other. After this time the runtime gets the connection, so that
 * a request can be refused before its body is sent, and a slow body is timed.
 */
const REST_MS_MAX = 10

const ignore = (): void => {}

/** False for bytes that the runtime must get; `begun` for those that are answered here once the rest has arrived. */
export type Taken = boolean | 'begun'

interface DirectConnectionParts {
  readonly take: (on: DirectConnection, bytes: Buffer) => Taken
  readonly handOver: (bytes: Buffer) => void
}

/** A connection that is read here until it is handed to the runtime. */
export class DirectConnection {
  readonly connection: ClientConnection
  readonly input: HoldableInput
  readonly #handOver: (bytes: Buffer) => void
  readonly #onEnd = (): void => this.#ended()
  /** The start of a request. */
  #begun: Buffer | undefined
  #stopWaiting = ignore

  constructor(connection: ClientConnection, { take, handOver }: DirectConnectionParts) {
    this.connection = connection
    this.#handOver = handOver
    const { socket } = connection
    this.input = new HoldableInput(socket, bytes => {
      // No request is served behind the last response: it would have an effect, and no answer.
      if (socket.writableEnded) return
      const begun = this.#begun
      const all = begun === undefined ? bytes : Buffer.concat([begun, bytes])
      const taken = take(this, all)
      if (taken === 'begun') return this.#begin(all)
      if (begun !== undefined) this.#endBegun()
      if (!taken) this.leave(ownCopy(all))
    })
    socket.on('error', ignore)
    socket.on('end', this.#onEnd)
  }

  /** The runtime gets these bytes and all that follow. */
  leave(bytes: Buffer): void {
    const held = this.input.stop()
    this.connection.socket.off('end', this.#onEnd)
    this.#handOver(held === undefined ? bytes : Buffer.concat([bytes, held]))
  }

  #begin(bytes: Buffer): void {
    const isFirst = this.#begun === undefined
    this.#begun = ownCopy(bytes)
    if (!isFirst) return
    this.#stopWaiting = systemClock.after(REST_MS_MAX, () => {
      const begun = this.#endBegun()
      if (begun !== undefined && !this.connection.socket.destroyed) this.leave(begun)
    })
  }

  #endBegun(): Buffer | undefined {
    const begun = this.#begun
    this.#begun = undefined
    this.#stopWaiting()
    return begun
  }

  /** The client sends no further request. */
  #ended(): void {
    const { connection } = this
    const { socket } = connection
    const begun = this.#endBegun()
    if (begun !== undefined) {
      this.leave(begun)
      socket.emit('end')
    } else if (!connection.isBusy) socket.end()
    else connection.endWhenQuiet()
  }
}

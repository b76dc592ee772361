/** Takes rows out of the messages that a connection of `pg` receives. */
import { EventEmitter } from 'node:events'
import { BackendMessages } from './backend-messages.ts'
import type { PgConnection, RowTarget } from './execution.ts'

/** To be called before the client connects. */
export function divertRows(connection: PgConnection): RowTarget {
  const target: RowTarget = { execution: undefined }
  const attach = connection.attachListeners.bind(connection)
  connection.attachListeners = stream => {
    const relay = new EventEmitter()
    attach(relay)
    const messages = new BackendMessages({
      get expectsRows() {
        return target.execution !== undefined
      },
      row: (bytes, start, end) => target.execution!.row(bytes, start, end),
      others: bytes => void relay.emit('data', bytes),
    })
    stream.on('data', (chunk: Buffer) => {
      try {
        messages.take(chunk)
      } catch (error) {
        // Its rest cannot be understood, so the client gives the connection up.
        connection.emit('error', error)
      }
    })
  }
  return target
}

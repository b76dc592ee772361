import type { Socket } from 'node:net'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { type PendingWait, TIMEOUTS, type Timeouts } from './timeouts.ts'

const NOTHING = Buffer.alloc(0)

/** Until the kernel has taken all that was written to a socket, or the connection has closed or timed out. */
export function flushed(socket: Socket, timeouts: Timeouts): MaybePromise<void> {
  if (socket.writableLength === 0) return undefined
  return new Promise(resolve => {
    const since = timeouts.clock.now()
    const wait: PendingWait = {
      isOver: now => now - since >= TIMEOUTS.responseStallMs,
      expire: () => void socket.destroy(),
    }
    const done = (): void => {
      timeouts.end(wait)
      socket.off('close', done)
      resolve()
    }
    timeouts.begin(wait)
    socket.on('close', done)
    // Written after the rest, and reported even if there is nothing to wait for by then.
    socket.write(NOTHING, done)
  })
}

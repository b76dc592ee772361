/**
 * Connections in transit to a worker. Node's cluster module sends each handle and waits for the worker's
 * acknowledgment; when the worker dies before that, Node keeps the handle open forever and the client hangs. The
 * supervisor closes such handles here.
 */
import type { ChildProcess } from 'node:child_process'

/** Internal messages of node:cluster; no other message has these fields. */
interface Internal {
  readonly act?: unknown
  readonly seq?: number
  readonly ack?: number
}

interface Handle {
  close(): void
}

/**
 * Has no effect on a runtime that transfers no handles. Node goes on handing connections to a worker that has exited
 * until its channel is closed, which it may notice later.
 */
export function closeUnacceptedHandles(worker: ChildProcess): void {
  const inTransit = new Map<number, Handle>()
  let hasExited = false
  const closeAll = (): void => {
    hasExited = true
    for (const handle of inTransit.values()) handle.close()
    inTransit.clear()
  }
  const send = worker.send.bind(worker) as (...args: unknown[]) => boolean
  worker.send = (message: Internal, handle?: unknown, ...more: unknown[]): boolean => {
    const isConnection = message.act === 'newconn' && message.seq !== undefined
    if (isConnection && hasExited) {
      ;(handle as Handle).close()
      return false
    }
    if (isConnection) inTransit.set(message.seq!, handle as Handle)
    return send(message, handle, ...more)
  }
  worker.on('internalMessage', ({ ack }: Internal) => {
    if (ack !== undefined) inTransit.delete(ack)
  })
  worker.once('exit', closeAll)
}

/**
 * Connections on their way to a worker. Node hands each one over and waits until the worker says that it has come; when
 * the worker dies before that, Node waits for ever, and the client does so too: nobody is at the other end, and nobody
 * closes it. So whoever starts workers closes it here.
 */
import type { ChildProcess } from 'node:child_process'

/** What node:cluster says between its processes; everything else has none of these. */
interface Internal {
  readonly act?: unknown
  readonly seq?: number
  readonly ack?: number
}

interface Handle {
  close(): void
}

/** A runtime that hands nothing over is not touched by this. */
export function closeUnacceptedHandles(worker: ChildProcess): void {
  const underWay = new Map<number, Handle>()
  const send = worker.send.bind(worker) as (...said: unknown[]) => boolean
  worker.send = (message: Internal, handle?: unknown, ...more: unknown[]): boolean => {
    if (message.act === 'newconn' && message.seq !== undefined) underWay.set(message.seq, handle as Handle)
    return send(message, handle, ...more)
  }
  worker.on('internalMessage', ({ ack }: Internal) => {
    if (ack !== undefined) underWay.delete(ack)
  })
  worker.once('exit', () => {
    for (const handle of underWay.values()) handle.close()
  })
}

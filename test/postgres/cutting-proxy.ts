/**
 * A proxy between driver and server that cuts connections at the two worst moments of a commit: before the server
 * receives it, and after the server has committed but before the response is forwarded.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Random } from '../../src/lib/random.ts'

/** The name of the prepared statement, as in a message that runs it. */
const COMMIT = Buffer.from('\0commit\0')

export interface CuttingProxy {
  readonly url: string
  readonly cuts: { before: number; after: number }
  close(): Promise<void>
}

/** Cuts at this share of the commits, alternately before and after. */
export async function cuttingProxy(serverUrl: string, share: number, random: Random): Promise<CuttingProxy> {
  const { hostname, port } = new URL(serverUrl)
  const cuts = { before: 0, after: 0 }
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(Number(port), hostname)
    const cut = (): void => {
      client.destroy()
      upstream.destroy()
    }
    let silent = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', cut)
      socket.on('close', cut)
    }
    client.on('data', data => {
      if (data.includes(COMMIT) && random.fraction() < share) {
        if (cuts.before < cuts.after) {
          cuts.before++
          cut()
          return
        }
        cuts.after++
        silent = true
      }
      upstream.write(data)
    })
    upstream.on('data', data => {
      if (silent) cut()
      else client.write(data)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: serverUrl.replace(`:${port}/`, `:${(server.address() as AddressInfo).port}/`),
    cuts,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

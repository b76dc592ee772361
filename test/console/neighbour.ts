/** Another server on the same host, as a development server or a hostile program would be: its page is blank. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Neighbour {
  readonly port: number
  /** The `Cookie` header of the latest request. */
  cookie(): string
  close(): Promise<void>
}

export async function startNeighbour(page = '<!doctype html><title>neighbour</title>'): Promise<Neighbour> {
  let latest = ''
  const server = createServer(({ headers }: IncomingMessage, response) => {
    latest = headers.cookie ?? ''
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(page)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    cookie: () => latest,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

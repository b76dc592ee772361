/** What a supervisor asks: is the process there, and can it serve. Nothing here needs, or tells, a secret. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export class Health {
  readonly #server: Server

  constructor(isReady: () => Promise<boolean>) {
    this.#server = createServer((request, response) => {
      const answer = (status: number, text: string): void => {
        response.writeHead(status, { 'content-type': 'text/plain', 'content-length': Buffer.byteLength(text) })
        response.end(request.method === 'HEAD' ? undefined : text)
      }
      if (request.url === '/health/live') answer(200, 'live\n')
      else if (request.url === '/health/ready') {
        isReady().then(
          ready => answer(ready ? 200 : 503, ready ? 'ready\n' : 'not ready\n'),
          () => answer(503, 'not ready\n'),
        )
      } else answer(404, 'not found\n')
    })
  }

  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject)
        resolve(this.#server.address() as AddressInfo)
      })
    })
  }

  close(): Promise<void> {
    return new Promise(resolve => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }
}

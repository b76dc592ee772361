/** The least HTTP server that does the same with the bytes: what a runtime's own server can do at most. */
import { createReadStream, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openEngine } from '../../src/meta/lmdb/lmdb-engine.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

const FOUR_KIB = Buffer.alloc(4096, 'x')

/** Answers from memory. */
const memory: Handler = (_request, response) => {
  response.writeHead(200, { 'content-length': FOUR_KIB.length })
  response.end(FOUR_KIB)
}

/** One durable put for each request, with the options that our own metadata have. */
async function lmdb(folder: string): Promise<Handler> {
  const engine = await openEngine(folder, 'fsync')
  let count = 0
  return (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const stored = engine.put(Buffer.from(request.url!), Buffer.concat(chunks), ++count) as Promise<unknown>
      stored.then(() => {
        response.writeHead(200, { 'content-length': 0 })
        response.end()
      })
    })
  }
}

/** Streams a file. */
const file = (path: string): Handler => {
  const { size } = statSync(path)
  return (_request, response) => {
    response.writeHead(200, { 'content-length': size })
    createReadStream(path, { highWaterMark: 2 ** 20 }).pipe(response)
  }
}

const [kind, path = ''] = process.argv.slice(2)
const handler = kind === 'memory' ? memory : kind === 'lmdb' ? await lmdb(path) : file(path)
const server = createServer(handler)
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`reference ready ${(server.address() as AddressInfo).port}\n`)
})
process.on('SIGTERM', () => process.exit(0))

/** The HTTP/1.1 server: bytes in, bytes out. It knows no operation; everything it learns it hands to the pipeline. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Random } from '../lib/random.ts'
import { type Dialect, wireName } from './dialect.ts'
import type { Incoming, Outcome, Pipeline } from './pipeline.ts'

const HEADER_BYTES_MAX = 16 * 1024
const HEADERS_MS_MAX = 30_000
const IDLE_MS_MAX = 20_000
const KEEP_ALIVE_MS = 65_000

/** Beyond so many requests at once a new one is asked to come later: what is under way gets done. */
const IN_FLIGHT_MAX = 2_000

export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface ListenerParts {
  /** HTTPS with this certificate; plain HTTP without. */
  readonly certificate?: Certificate | undefined
  readonly pipeline: Pipeline
  readonly random: Random
  /** One call per request, when its answer is out or its connection is gone. */
  readonly record: (outcome: Outcome, exchange: Exchange) => void
  /** An answer that could not be sent: its connection ends, and no other is touched. */
  readonly onError: (error: unknown) => void
}

const HTTP_OPTIONS = {
  maxHeaderSize: HEADER_BYTES_MAX,
  headersTimeout: HEADERS_MS_MAX,
  requestTimeout: 0,
  keepAliveTimeout: KEEP_ALIVE_MS,
  requireHostHeader: false,
} as const

export interface Exchange {
  readonly requestId: string
  readonly method: string
  readonly status: number
  readonly remoteAddress: string
  readonly milliseconds: number
}

/** Raw headers come as one flat list of names and values. */
function pairs(raw: readonly string[]): [string, string][] {
  const out: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) out.push([raw[i]!, raw[i + 1]!])
  return out
}

export class Listener {
  readonly #parts: ListenerParts
  readonly #server: Server | SecureServer
  #inFlight = 0

  constructor(parts: ListenerParts) {
    this.#parts = parts
    const { certificate } = parts
    this.#server =
      certificate === undefined ? createServer(HTTP_OPTIONS) : createSecureServer({ ...HTTP_OPTIONS, ...certificate })
    const onRequest = (message: IncomingMessage, response: ServerResponse): void => {
      this.#inFlight++
      this.#serve(message, response)
        .catch((error: unknown) => {
          this.#parts.onError(error)
          response.destroy()
        })
        .finally(() => this.#inFlight--)
    }
    this.#server.on('request', onRequest)
    // Without a listener of its own, Node would answer 100 before anybody has looked at the request.
    this.#server.on('checkContinue', onRequest)
    // On the server, not on the socket: Node resets a socket's own timeout between two requests.
    this.#server.setTimeout(IDLE_MS_MAX, socket => socket.destroy())
    // Bounded by the size of the header section; a bound on the count would silently drop the rest.
    this.#server.maxHeadersCount = 0
    this.#server.on('clientError', (_error, socket) => {
      if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
      else socket.destroy()
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

  /** Connections from now on are secured with this one. */
  renew(certificate: Certificate): void {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(certificate)
  }

  /** No new connections; requests in flight finish, idle connections end. */
  close(): Promise<void> {
    return new Promise(resolve => {
      this.#server.close(() => resolve())
      this.#server.closeIdleConnections()
    })
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const started = performance.now()
    const requestId = this.#parts.random.bytes(8).toString('hex').toUpperCase()
    const hostId = this.#parts.random.bytes(24).toString('base64')
    const remoteAddress = message.socket.remoteAddress ?? ''
    message.on('error', () => {})
    response.on('error', () => {})
    const expectsContinue = message.headers.expect !== undefined
    const incoming: Incoming = {
      request: { method: message.method ?? '', target: message.url ?? '', headers: pairs(message.rawHeaders) },
      body: bytesOf(message),
      remoteAddress,
      secure: (message.socket as { encrypted?: boolean }).encrypted === true,
      requestId,
      hostId,
      overloaded: this.#inFlight > IN_FLIGHT_MAX,
      goOn: () => {
        if (expectsContinue) response.writeContinue()
      },
    }
    const outcome = await this.#parts.pipeline.handle(incoming)
    const { status } = outcome.outgoing
    const record = (ended: Outcome): void =>
      this.#parts.record(ended, {
        requestId,
        method: incoming.request.method,
        status,
        remoteAddress,
        milliseconds: performance.now() - started,
      })
    if (outcome.ended === undefined) record(outcome)
    await this.#answer(outcome, message, response, { requestId, hostId })
    if (outcome.ended !== undefined) record(await outcome.ended)
  }

  async #answer(
    { outgoing, dialect }: Outcome,
    message: IncomingMessage,
    response: ServerResponse,
    ids: { readonly requestId: string; readonly hostId: string },
  ): Promise<void> {
    // A body that nobody read is not drained: the connection ends instead.
    const unread = !message.readableEnded && message.headers['content-length'] !== '0' && hasBody(message)
    const headers = [...outgoing.headers, ...idHeaders(dialect, ids)]
    if (unread) headers.push(['connection', 'close'])
    response.writeHead(outgoing.status, headers.flat() as unknown as Record<string, string>)
    const { body } = outgoing
    if (body === undefined || message.method === 'HEAD') response.end()
    else if (Buffer.isBuffer(body)) response.end(body)
    else await stream(body, response, message.socket)
    if (unread) message.socket?.end()
  }
}

/** Whoever stops reading in the middle still owes the client an answer: the connection outlives the body. */
const bytesOf = (message: IncomingMessage): AsyncIterable<Buffer> => ({
  [Symbol.asyncIterator]: () => message.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>,
})

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

function idHeaders(dialect: Dialect, ids: { readonly requestId: string; readonly hostId: string }): [string, string][] {
  return [
    [wireName(dialect, ':request-id'), ids.requestId],
    [wireName(dialect, ':id-2'), ids.hostId],
  ]
}

/**
 * As fast as the client takes it; an answer that breaks off in the middle ends its connection, never as if complete.
 */
async function stream(body: AsyncIterable<Buffer>, response: ServerResponse, socket: Socket): Promise<void> {
  try {
    for await (const chunk of body) {
      if (response.destroyed || socket.destroyed) return
      if (!response.write(chunk)) await drained(response, socket)
    }
    response.end()
  } catch {
    response.destroy()
  }
}

/** An answer that waits behind another one is never told that its connection is gone: the socket is asked as well. */
function drained(response: ServerResponse, socket: Socket): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      response.off('drain', done)
      response.off('close', done)
      socket.off('close', done)
      resolve()
    }
    response.on('drain', done)
    response.on('close', done)
    socket.on('close', done)
    if (socket.destroyed) done()
  })
}

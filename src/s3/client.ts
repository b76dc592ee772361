/**
 * An S3 client for one bucket of one server, path style or virtual-hosted style. Idempotent requests are retried after
 * transient failures. Requests that create a version never are: a lost response does not mean that no version was
 * created. docs/decisions/libraries.md says why this is not an SDK.
 */
import { createHash } from 'node:crypto'
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type KeyPair, signRequest } from '../auth/sign-request.ts'
import { SCHEMES, UNSIGNED_PAYLOAD } from '../auth/signing.ts'
import type { RawRequest } from '../http/raw-request.ts'
import { systemClock } from '../lib/clock.ts'
import { percentEncoded } from '../lib/percent-encoding.ts'
import { type NeutralHeaders, NoResponse, neutralHeaders, noResponseOf, refusalOf, s3HeaderName } from './responses.ts'
import { withRetries } from './retries.ts'

export interface S3Address {
  readonly endpoint: URL
  readonly bucket: string
  readonly region: string
  readonly key: KeyPair
  readonly sessionToken?: string | undefined
  /** Virtual-hosted style instead of path style. */
  readonly virtualHost?: boolean
  /** CA certificate in PEM form; the system's CA store if undefined. */
  readonly ca?: string | undefined
  /** The setting that names the CA certificate, for error texts. */
  readonly caSetting?: string
  readonly inFlight: number
  /** A connection without data for this long counts as broken. */
  readonly silenceMsMax?: number
}

export interface ClientRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Undefined for a request to the bucket. */
  readonly key?: string
  /** A request to the service instead of a bucket. */
  readonly onService?: true
  readonly query?: Readonly<Record<string, string | number | undefined>>
  /** A leading `:` stands for the vendor prefix. */
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: Buffer | readonly Buffer[]
  /** SHA-256 of the body in hex, if the caller has computed it. */
  readonly bodyHash?: string
  /** A streamed body of known length. */
  readonly stream?: { readonly from: Readable; readonly length: number }
}

export interface ClientResponse {
  readonly headers: NeutralHeaders
  readonly body: Buffer
}

const SILENCE_MS_MAX = 60_000

const pathOf = (key: string): string => key.split('/').map(percentEncoded).join('/')

function queryOf(query: ClientRequest['query'] = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
  return pairs.map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(String(value))}`).join('&')
}

const piecesOf = ({ body = [] }: ClientRequest): readonly Buffer[] => (Buffer.isBuffer(body) ? [body] : body)

const lengthOf = (pieces: readonly Buffer[]): number => pieces.reduce((sum, piece) => sum + piece.length, 0)

function hashOf(pieces: readonly Buffer[]): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return hash.digest('hex')
}

export class S3Client {
  readonly address: S3Address
  readonly #agent: HttpAgent
  readonly #isSecure: boolean

  constructor(place: S3Address) {
    this.address = place
    this.#isSecure = place.endpoint.protocol === 'https:'
    const options = { keepAlive: true, maxSockets: place.inFlight * 2 + 2 }
    const trust = place.ca === undefined ? {} : { ca: place.ca }
    this.#agent = this.#isSecure ? new HttpsAgent({ ...options, ...trust }) : new HttpAgent(options)
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Sends an idempotent request, with retries. */
  request(ask: ClientRequest): Promise<ClientResponse> {
    return withRetries(() => this.requestOnce(ask))
  }

  /** Like `request`, but undefined when the server responds with one of these error codes. */
  async requestIfPresent(ask: ClientRequest, ...missing: readonly string[]): Promise<ClientResponse | undefined> {
    try {
      return await this.request(ask)
    } catch (error) {
      if (error instanceof Error && 'code' in error && missing.includes(String(error.code))) return undefined
      throw error
    }
  }

  /** Sends a request once and reads the whole response. */
  async requestOnce(ask: ClientRequest): Promise<ClientResponse> {
    const response = await this.open(ask)
    return { headers: neutralHeaders(response.headers), body: await wholeOf(response) }
  }

  /** Sends a request once and reads the body of the response, with its status and its headers as they are. */
  async read(ask: ClientRequest): Promise<{ readonly response: IncomingMessage; readonly body: Buffer }> {
    const response = await this.open(ask)
    return { response, body: await wholeOf(response) }
  }

  /** Reads a response that should be short; a longer body is discarded and an empty one returned. */
  async readShort(ask: ClientRequest, bytesMax: number): Promise<Buffer> {
    const incoming = await this.open(ask)
    const length = Number(incoming.headers['content-length'] ?? 0)
    if (length <= bytesMax) return wholeOf(incoming)
    incoming.destroy()
    return Buffer.alloc(0)
  }

  /** Sends a request once; the caller must read or destroy the body of the response. */
  async open(ask: ClientRequest): Promise<IncomingMessage> {
    const response = await this.#exchange(this.#signed(ask), ask)
    const status = response.statusCode ?? 0
    if (status >= 200 && status < 300) return response
    throw refusalOf(status, await wholeOf(response))
  }

  #signed(ask: ClientRequest): RawRequest {
    const { endpoint, bucket, region, key, sessionToken, virtualHost } = this.address
    const base = endpoint.pathname.replace(/\/+$/, '')
    const inPath = ask.onService ? '' : virtualHost ? '' : `/${bucket}`
    const path = `${base}${inPath}/${ask.key === undefined ? '' : pathOf(ask.key)}`
    const query = queryOf(ask.query)
    const host = virtualHost && !ask.onService ? `${bucket}.${endpoint.host}` : endpoint.host
    const headers: [string, string][] = [['host', host]]
    for (const [name, value] of ask.headers ?? []) headers.push([s3HeaderName(name), value])
    if (sessionToken !== undefined) headers.push([s3HeaderName(':security-token'), sessionToken])
    const hasBody = ask.method === 'PUT' || ask.method === 'POST'
    if (hasBody) headers.push(['content-length', String(ask.stream?.length ?? lengthOf(piecesOf(ask)))])
    const contentHash = ask.stream === undefined ? (ask.bodyHash ?? hashOf(piecesOf(ask))) : UNSIGNED_PAYLOAD
    const target = query === '' ? path : `${path}?${query}`
    const request = { method: ask.method, target, headers }
    return signRequest(SCHEMES.s3, request, { key, region, contentHash, now: systemClock.now() })
  }

  #exchange(request: RawRequest, ask: ClientRequest): Promise<IncomingMessage> {
    const { endpoint, bucket, virtualHost, caSetting = '--ca FILE', silenceMsMax = SILENCE_MS_MAX } = this.address
    const hostname = endpoint.hostname.replace(/^\[(.*)\]$/, '$1')
    // RFC 6761: every name below localhost is this machine, but few resolvers know it.
    const isHere = hostname === 'localhost'
    const options: RequestOptions = {
      host: virtualHost && !ask.onService && !isHere ? `${bucket}.${hostname}` : hostname,
      port: endpoint.port === '' ? (this.#isSecure ? 443 : 80) : Number(endpoint.port),
      method: request.method,
      path: request.target,
      headers: Object.fromEntries(request.headers),
      agent: this.#agent,
    }
    return new Promise((resolve, reject) => {
      const lost = (error: Error): void => reject(noResponseOf(endpoint.host, error, caSetting))
      const sending = this.#isSecure ? httpsRequest(options, resolve) : httpRequest(options, resolve)
      sending.on('error', lost)
      sending.setTimeout(silenceMsMax, () => sending.destroy(new Error(`no data for ${silenceMsMax / 1000} s`)))
      // A server may respond before it has read the whole body; its response counts then, not the broken pipe.
      if (ask.stream !== undefined) pipeline(ask.stream.from, sending).catch(lost)
      else {
        for (const piece of piecesOf(ask)) sending.write(piece)
        sending.end()
      }
    })
  }
}

/** By events: iterating over a stream takes several times the processor time. */
function wholeOf(response: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const cut = (error: Error): void => reject(new NoResponse(`the response was cut off: ${error.message}`))
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('error', cut)
    response.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    // A connection that ends early may report neither an end nor an error.
    response.on('close', () => {
      if (!response.readableEnded) cut(new Error('the connection was closed'))
    })
  })
}

/** The admin API of a running server, with requests signed by an administrator's key. */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { ADMIN_SCHEMES } from '../admin/administrator.ts'
import { ADMIN_ROUTES } from '../admin/index.ts'
import { type KeyPair, signRequest } from '../auth/sign-request.ts'
import { sha256Hex } from '../auth/signing.ts'
import type { RawRequest } from '../http/raw-request.ts'
import { systemClock } from '../lib/clock.ts'
import { type Admin, placed } from './admin.ts'
import { CommandFailed } from './failures.ts'

type Input = Readonly<Record<string, unknown>>

interface Endpoint {
  readonly url: URL
  readonly key: KeyPair
  readonly region: string
  /** CA certificate in PEM form; the system's CA store if undefined. */
  readonly ca: string | undefined
}

function signed(request: RawRequest, body: string, { key, region }: Endpoint, now: number): RawRequest {
  const contentHash = sha256Hex(Buffer.from(body, 'utf8').toString('latin1'))
  return signRequest(ADMIN_SCHEMES.svc, request, { key, region, contentHash, now })
}

export class HttpAdmin implements Admin {
  readonly #endpoint: Endpoint
  readonly #url: URL

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint
    this.#url = endpoint.url
  }

  async ask(name: string, input: Input = {}): Promise<Record<string, unknown>> {
    const response = await this.#send(name, input)
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    const isFine = (response.statusCode ?? 500) < 300
    if (text === '') return isFine ? {} : { code: String(response.statusCode) }
    const read = parsed(text, this.#url)
    if (isFine) return read
    throw new CommandFailed(`${String(read.message ?? response.statusCode)} (${String(read.code ?? '')})`)
  }

  async *lines(name: string, input: Input = {}): AsyncIterable<string> {
    const response = await this.#send(name, input)
    await this.#refuse(response)
    for await (const chunk of response.setEncoding('utf8')) yield String(chunk)
  }

  async *bytes(name: string, input: Input = {}): AsyncIterable<Buffer> {
    const response = await this.#send(name, input)
    await this.#refuse(response)
    try {
      for await (const chunk of response) yield chunk as Buffer
    } catch (error) {
      throw new CommandFailed(`the server cut off its response (${(error as Error).message}): see its log`)
    }
  }

  async #refuse(response: IncomingMessage): Promise<void> {
    if ((response.statusCode ?? 500) < 300) return
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    const read = parsed(text, this.#url)
    throw new CommandFailed(`${String(read.message)} (${String(read.code)})`)
  }

  async close(): Promise<void> {}

  #send(name: string, input: Input): Promise<IncomingMessage> {
    const route = ADMIN_ROUTES.byName(name)
    const sent = placed(route, input)
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, field: string) =>
      encodeURIComponent(sent.path.get(field) ?? ''),
    )
    const query = new URLSearchParams([...sent.query]).toString().replaceAll('+', '%20')
    const body = Object.keys(sent.body).length === 0 ? '' : JSON.stringify(sent.body)
    const target = query === '' ? path : `${path}?${query}`
    const headers: [string, string][] = [['host', this.#url.host]]
    if (body !== '') headers.push(['content-length', String(Buffer.byteLength(body))])
    const request = signed({ method: route.method, target, headers }, body, this.#endpoint, systemClock.now())
    return this.#exchange(request, body)
  }

  #exchange(request: RawRequest, body: string): Promise<IncomingMessage> {
    const { protocol, hostname, port } = this.#url
    const options: RequestOptions = {
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      method: request.method,
      path: request.target,
      headers: Object.fromEntries(request.headers),
      // A command makes few requests, so connections are not kept.
      agent: false,
    }
    const { ca } = this.#endpoint
    return new Promise((resolve, reject) => {
      const unreachable = (error: Error): void =>
        reject(new CommandFailed(`the console at ${this.#url.origin} cannot be reached: ${error.message}`))
      const sending =
        protocol === 'https:'
          ? httpsRequest({ ...options, ...(ca === undefined ? {} : { ca }) }, resolve)
          : httpRequest(options, resolve)
      sending.on('error', unreachable)
      sending.end(body)
    })
  }
}

function parsed(text: string, url: URL): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandFailed(`${url.origin} is not the console of a Holdfast server`)
  }
}

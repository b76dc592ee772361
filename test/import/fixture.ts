/** Two of our servers, and a proxy between an import and its source that corrupts responses. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { serving } from '../cli/program.ts'
import { withFolder } from '../store/fixture.ts'
import { BUCKET, clientOf, SOURCE_KEY } from './round.ts'
import { EVERYTHING, type Seeded, seed } from './seed.ts'

const SOURCE_ENV = {
  HOLDFAST_ROOT_ACCESS_KEY: SOURCE_KEY.accessKey,
  HOLDFAST_ROOT_SECRET_KEY: SOURCE_KEY.secretKey,
}

export interface Servers {
  readonly folder: string
  readonly sourceUrl: string
  readonly targetUrl: string
}

export async function withServers(
  use: (servers: Servers) => Promise<void>,
  sourceFlags: (folder: string) => readonly string[] = () => [],
): Promise<void> {
  await withFolder(async folder => {
    const flags = ['--workers', '1', '--durability', 'os']
    const more = sourceFlags(folder)
    const source = await serving(['--data', join(folder, 'source'), ...flags, ...more], SOURCE_ENV)
    const target = await serving(['--data', join(folder, 'target'), ...flags])
    try {
      await use({ folder, sourceUrl: source.url, targetUrl: target.url })
    } finally {
      await source.stop()
      await target.stop()
    }
  })
}

export async function seededAt(url: string, objects: number): Promise<Seeded> {
  const source = clientOf(url, BUCKET, SOURCE_KEY)
  try {
    return await seed(source, { objects, traits: EVERYTHING })
  } finally {
    source.close()
  }
}

export interface Question {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly host: string
  /** How often this request was sent, including this time. */
  readonly times: number
}

/** The proxy's treatment of a request: its own response, none, half of one, or a changed body. */
export type Spoiling =
  | { readonly status: number; readonly body?: string }
  | 'cut'
  /** The server gets the request, and its response is lost. */
  | 'lose'
  | { readonly cutAfter: number }
  /** A changed body, without the headers that match this. */
  | { readonly rewrite: (body: string) => string; readonly without?: RegExp }

type Spoil = (question: Question) => Spoiling | undefined

async function passedOn(message: IncomingMessage, to: URL): Promise<IncomingMessage> {
  const options = { host: to.hostname, port: to.port, method: message.method, path: message.url }
  return new Promise((resolve, reject) => {
    // The signature covers the host.
    const sending = request({ ...options, headers: message.headers, agent: false }, resolve)
    sending.on('error', reject)
    message.pipe(sending)
  })
}

function answered(response: ServerResponse, answer: IncomingMessage, body: Buffer, without = /^$/): void {
  const hidden = /^(transfer-encoding|connection)$/
  const shown = Object.entries(answer.headers).filter(([name]) => !hidden.test(name) && !without.test(name))
  const headers: Record<string, string | string[] | undefined> = Object.fromEntries(shown)
  const isHead = answer.headers['content-length'] !== undefined && body.length === 0
  if (!isHead) headers['content-length'] = String(body.length)
  response.writeHead(answer.statusCode ?? 0, headers)
}

async function exchange(message: IncomingMessage, response: ServerResponse, to: URL, spoiling: Spoiling | undefined) {
  if (spoiling === 'cut') return void message.socket.destroy()
  if (typeof spoiling === 'object' && 'status' in spoiling) {
    message.resume()
    response.writeHead(spoiling.status).end(spoiling.body ?? '')
    return
  }
  const answer = await passedOn(message, to)
  const body = await buffer(answer)
  if (spoiling === 'lose') return void message.socket.destroy()
  if (typeof spoiling === 'object' && 'rewrite' in spoiling) {
    const changed = Buffer.from(spoiling.rewrite(body.toString('latin1')), 'latin1')
    answered(response, answer, changed, spoiling.without)
    response.end(changed)
    return
  }
  answered(response, answer, body)
  if (spoiling === undefined) return void response.end(body)
  response.write(body.subarray(0, spoiling.cutAfter), () => message.socket.destroy())
}

/** A proxy at another address that forwards everything, except where `spoil` interferes. */
export async function between(url: string, spoil: Spoil, use: (url: string) => Promise<void>): Promise<void> {
  const asked = new Map<string, number>()
  const server = createServer((message, response) => {
    message.on('error', () => {})
    response.on('error', () => {})
    const name = `${message.method} ${message.url}`
    const times = (asked.get(name) ?? 0) + 1
    asked.set(name, times)
    const { pathname, searchParams } = new URL(message.url ?? '', 'http://x')
    const { method = '', headers } = message
    const question = {
      method,
      path: decodeURIComponent(pathname),
      query: searchParams,
      host: headers.host ?? '',
      times,
    }
    exchange(message, response, new URL(url), spoil(question)).catch(() => message.socket.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    await use(`http://127.0.0.1:${port}`)
  } finally {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
}

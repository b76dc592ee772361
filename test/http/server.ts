/**
 * A server inside the test process, and a client for both dialects. Requests are sent as written: raw target, raw
 * headers, nothing normalised. `:name` is a header of the dialect, and `~` in a value is replaced by its prefix.
 */

import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { type Agent, type ClientRequest, request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { SCHEMES, type Scheme } from '../../src/auth/signing.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { systemRandom } from '../../src/lib/random.ts'
import type { XmlNode } from '../../src/lib/xml.ts'
import { parseXml } from '../../src/lib/xml-reader.ts'
import { canonicalIdOf } from '../../src/model/account.ts'
import { readAccountsFile } from '../../src/rules/accounts-file.ts'
import { ensureAccounts } from '../../src/server/accounts.ts'
import { openFolder, openMemory, type ServerParts } from '../../src/server/compose.ts'
import { listenerFor, type ServingParts } from '../../src/server/object-api.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import { onEngines } from '../engines.ts'
import { withFolder } from '../store/fixture.ts'
import { openOnEngines } from './engine-parts.ts'

export type DialectName = 'svc' | 's3'

export interface Who {
  readonly accessKey: string
  readonly secretKey: string
  readonly accountId: string
  readonly canonicalId: string
}

const who = (accountId: string, name: string): Who => ({
  accessKey: `AK${name.toUpperCase()}`,
  secretKey: `secret-of-${name}`,
  accountId,
  canonicalId: canonicalIdOf(accountId),
})

/** The account most tests act as, another one, and a user of the first with its own policy. */
export const MAIN = who('111111111111', 'main')
export const OTHER = who('222222222222', 'other')
export const READER = who('111111111111', 'reader')
export const BASE_HOST = 'hf.example'
const REGION = 'us-east-1'

const READER_POLICY = {
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: ['svc:GetObject', 'svc:ListBucket'], Resource: '*' }],
}

const ROOT_KEY = { accessKey: 'AKROOT', secretKey: 'secret-of-root' }

const keys = ({ accessKey, secretKey }: Who) => [{ accessKey, secretKey }]

const ACCOUNTS = {
  accounts: [
    {
      accountId: MAIN.accountId,
      displayName: 'main',
      email: 'main@example.com',
      accessKeys: keys(MAIN),
      users: [{ name: 'reader', accessKeys: keys(READER), policies: [READER_POLICY] }],
    },
    { accountId: OTHER.accountId, displayName: 'other', email: 'other@example.com', accessKeys: keys(OTHER) },
  ],
}

export interface Sending {
  readonly method: string
  /** The bucket in the Host header; without one the request goes to the base host. */
  readonly bucket?: string
  /** The whole Host header, instead. */
  readonly host?: string
  /** Raw: percent-encoded as sent, with its query. */
  readonly path: string
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: Buffer | string
  /** Instead of a body: an announced length, of which nothing is ever sent. */
  readonly announced?: number
  /** Runs when all but the last byte of the body is sent. */
  readonly meanwhile?: () => Promise<void>
  /** Null sends no signature. */
  readonly as?: Who | null
  /** Signed as the hash of the body, instead of the real one. */
  readonly hash?: string
  /** The signed region; us-east-1 by default. */
  readonly region?: string
  /** Called with every chunk of the response's body as it arrives. */
  readonly heard?: (piece: Buffer, status: number) => void
}

export interface Received {
  readonly status: number
  /** By lower-case wire name. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** A dialect header by its neutral name. */
  own(name: string): string | undefined
  xml(): XmlNode
  /** The code of an error response; empty when there is none. */
  code(): string
}

/** Large bodies are often sent by several tests of a file. */
const hashes = new WeakMap<Buffer, string>()

function hashOf(body: Buffer): string {
  const known = hashes.get(body)
  if (known !== undefined) return known
  const hash = createHash('sha256').update(body).digest('hex')
  if (body.length > 2 ** 20) hashes.set(body, hash)
  return hash
}

export class Client {
  readonly dialect: DialectName
  readonly clock: ManualClock
  readonly #agent: Agent | undefined
  readonly #scheme: Scheme
  readonly port: number

  /** `agent` gives the client separate connections. */
  constructor(dialect: DialectName, clock: ManualClock, port: number, agent?: Agent) {
    this.#agent = agent
    this.dialect = dialect
    this.clock = clock
    this.#scheme = SCHEMES[dialect]
    this.port = port
  }

  name(header: string): string {
    return header.startsWith(':') ? this.#scheme.headerPrefix + header.slice(1) : header
  }

  async send(what: Sending): Promise<Received> {
    const body = typeof what.body === 'object' ? what.body : Buffer.from(what.body ?? '')
    return this.#exchange(what, this.#headersOf(what, body), body)
  }

  /** The head of a request as sent over the wire, for tests that send the rest themselves. */
  head(what: Sending): string {
    const headers = this.#headersOf(what, Buffer.from(what.body ?? ''))
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    return `${what.method} ${what.path} HTTP/1.1\r\n${lines}\r\n`
  }

  #headersOf(what: Sending, body: Buffer): [string, string][] {
    const headers: [string, string][] = [
      ['Host', what.host ?? (what.bucket === undefined ? BASE_HOST : `${what.bucket}.${BASE_HOST}`)],
    ]
    if (body.length > 0 || what.method === 'PUT' || what.method === 'POST') {
      headers.push(['Content-Length', String(what.announced ?? body.length)])
    }
    for (const [name, value] of what.headers ?? []) {
      headers.push([this.name(name), value.replaceAll('~', this.#scheme.headerPrefix)])
    }
    if (what.as !== null) this.#sign(what, headers, body, what.as ?? MAIN)
    return headers
  }

  #sign(what: Sending, headers: [string, string][], body: Buffer, as: Who): void {
    const scheme = this.#scheme
    const stamp = new Date(this.clock.now()).toISOString().replace(/[-:]|\.\d{3}/g, '')
    const hash = what.hash ?? hashOf(body)
    headers.push([`${scheme.headerPrefix}date`, stamp], [`${scheme.headerPrefix}content-sha256`, hash])
    const sorted = [...headers]
      .map(([n, v]) => [n.toLowerCase(), v.replace(/^[ \t]+|[ \t]+$/g, '')] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1))
    const names = sorted.map(([n]) => n).join(';')
    const [path = '', query = ''] = what.path.split(/\?(.*)/s)
    const canonicalQuery = query
      .split('&')
      .filter(piece => piece !== '')
      .map(piece => (piece.includes('=') ? piece : `${piece}=`))
      .sort()
      .join('&')
    const lines = sorted.map(([n, v]) => `${n}:${v}`)
    const canonical = [what.method, path, canonicalQuery, ...lines, '', names, hash].join('\n')
    const scope = [stamp.slice(0, 8), what.region ?? REGION, scheme.service, scheme.terminator]
    const toSign = [
      scheme.algorithm,
      stamp,
      scope.join('/'),
      createHash('sha256').update(canonical, 'latin1').digest('hex'),
    ]
    const mac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()
    const key = scope.reduce<Buffer | string>((k, word) => mac(k, word), scheme.keyPrefix + as.secretKey)
    const signature = mac(key, toSign.join('\n')).toString('hex')
    const credential = `Credential=${as.accessKey}/${scope.join('/')}`
    headers.push(['Authorization', `${scheme.algorithm} ${credential}, SignedHeaders=${names}, Signature=${signature}`])
  }

  #exchange(what: Sending, headers: [string, string][], body: Buffer): Promise<Received> {
    return new Promise((resolve, reject) => {
      const options = { port: this.port, host: '127.0.0.1', method: what.method, path: what.path, setHost: false }
      const request = httpRequest(
        {
          ...options,
          ...(this.#agent && { agent: this.#agent }),
          headers: (what.meanwhile === undefined ? headers : [...headers, EXPECTING]).flat() as unknown as Record<
            string,
            string
          >,
        },
        answer => {
          const chunks: Buffer[] = []
          answer.on('data', chunk => {
            chunks.push(chunk)
            what.heard?.(chunk, answer.statusCode ?? 0)
          })
          answer.on('error', reject)
          answer.on('end', () =>
            resolve(this.#received(answer.statusCode ?? 0, answer.rawHeaders, Buffer.concat(chunks))),
          )
        },
      )
      request.on('error', reject)
      if (what.announced !== undefined) request.flushHeaders()
      else if (what.meanwhile === undefined || body.length === 0) request.end(body)
      else holdBack(request, body, what.meanwhile).catch(reject)
    })
  }

  #received(status: number, raw: readonly string[], body: Buffer): Received {
    const headers = new Map<string, string>()
    for (let i = 0; i + 1 < raw.length; i += 2) headers.set(raw[i]!.toLowerCase(), raw[i + 1]!)
    const xml = (): XmlNode => parseXml(body)
    return {
      status,
      headers,
      body,
      xml,
      own: name => headers.get(this.name(`:${name}`)),
      code() {
        if (status < 300 || body.length === 0) return ''
        return xml().children.find(child => child.name === 'Code')?.text ?? ''
      },
    }
  }
}

/** The server asks for the body once it has authorized the request. */
const EXPECTING: [string, string] = ['Expect', '100-continue']

async function holdBack(request: ClientRequest, body: Buffer, meanwhile: () => Promise<void>): Promise<void> {
  request.flushHeaders()
  await once(request, 'continue')
  await new Promise<void>(resolve => request.write(body.subarray(0, -1), () => resolve()))
  await meanwhile()
  request.end(body.subarray(-1))
}

export interface Served {
  readonly svc: Client
  readonly s3: Client
  readonly clock: ManualClock
  readonly parts: ServerParts
  /** The parsed log lines. */
  readonly log: readonly Readonly<Record<string, unknown>>[]
  /** Advances the clock of the server and its clients. */
  pass(ms: number): void
}

export async function serveParts(
  parts: ServerParts,
  clock: ManualClock,
  use: (served: Served) => Promise<void>,
  options: Partial<ServingParts> = {},
): Promise<void> {
  await ensureAccounts(parts.store, readAccountsFile(JSON.stringify(ACCOUNTS)))
  const directory = new IdentityCache(parts.store.context, ROOT_KEY)
  const log: Readonly<Record<string, unknown>>[] = []
  const listener = listenerFor({
    store: parts.store,
    directory,
    clock,
    random: systemRandom,
    region: REGION,
    baseHosts: [BASE_HOST],
    website: { hosts: [`website.${BASE_HOST}`], onBucketHost: true },
    logger: { log: line => log.push(line), notice: () => {}, abort: () => {} },
    ...options,
  })
  const { port } = await listener.listen('127.0.0.1', 0)
  try {
    const client = (dialect: DialectName): Client => new Client(dialect, clock, port)
    const pass = (ms: number): void => {
      clock.move(ms)
      listener.endOverdue()
    }
    await use({ svc: client('svc'), s3: client('s3'), clock, parts, log, pass })
  } finally {
    await listener.close()
    await parts.close()
  }
}

export async function withServer(
  use: (served: Served) => Promise<void>,
  options: Partial<ServingParts> & { readonly strictKeys?: boolean } = {},
): Promise<void> {
  const clock = new ManualClock()
  const { strictKeys = false, ...serving } = options
  const parts = await (onEngines ? openOnEngines(clock, strictKeys) : openMemory({ clock, strictKeys }))
  await serveParts(parts, clock, use, serving)
}

export async function withFolderServer(use: (served: Served, folder: string) => Promise<void>): Promise<void> {
  await withFolder(async folder => {
    const clock = new ManualClock()
    await serveParts(await openFolder({ folder, clock, durability: 'os' }), clock, served => use(served, folder))
  })
}

/** One test per dialect, in memory. */
export function inBoth(
  title: string,
  run: (client: Client, served: Served) => Promise<void>,
  options: Partial<ServingParts> = {},
): void {
  for (const dialect of ['svc', 's3'] as const) inOne(dialect, title, run, options)
}

export function inOne(
  dialect: DialectName,
  title: string,
  run: (client: Client, served: Served) => Promise<void>,
  options: Partial<ServingParts> = {},
): void {
  test(`${dialect}: ${title}`, () => withServer(served => run(served[dialect], served), options))
}

/** Creates a bucket of MAIN's for the test. */
export async function makeBucket(
  client: Client,
  bucket = 'test-bucket',
  headers: Sending['headers'] = [],
): Promise<string> {
  const made = await client.send({ method: 'PUT', bucket, path: '/', headers })
  if (made.status !== 200) throw new Error(`bucket not made: ${made.status} ${made.body}`)
  return bucket
}

/** Two listeners on one store, with and without the fast path of plain reads, and requests that are sent to both. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { presign } from '../../src/auth/sign-request.ts'
import { SCHEMES } from '../../src/auth/signing.ts'
import type { Exchange } from '../../src/edge/exchange.ts'
import type { Listener } from '../../src/edge/listener.ts'
import type { RequestState } from '../../src/edge/request-state.ts'
import { SignedHead } from '../../src/edge/signed-head.ts'
import { ADMISSION_LIMITS, Admission } from '../../src/http/admission.ts'
import { WholeBody } from '../../src/http/whole-body.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { listenerOver, pipelineFor, type ServingParts } from '../../src/server/object-api.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import type { EpochTracker } from '../../src/store/reclaim/epoch-tracker.ts'
import { RequestMetrics } from '../../src/telemetry/exchange-recorder.ts'
import { onEngines } from '../engines.ts'
import { asking, type ConnectionKind, open, received, type Transport } from './raw-exchange.ts'
import {
  BASE_HOST,
  type Client,
  type DialectName,
  MAIN,
  OTHER,
  READER,
  type Served,
  type Who,
  withServer,
} from './server.ts'

export const LOCAL = { skip: onEngines && 'an engine behind a network is never read at once' }

type Both<T> = readonly [immediate: T, inSteps: T]

export interface Compared {
  readonly listeners: Both<Listener>
  readonly ports: Both<number>
  readonly transport: Transport
  readonly logs: Both<Record<string, unknown>[]>
  readonly metrics: Both<RequestMetrics>
  /** Readers of the store that both serve. */
  readonly readers: Pick<EpochTracker, 'count'>
  /** The states that the sinks were given, one for each request. */
  readonly states: Both<RequestState[]>
  /** Requests that the fast path answered. */
  answered: number
  /** Those of them that were answered on the socket. */
  answeredOnSocket: number
  /** Requests that the pipeline answered on the socket. */
  handledOnSocket: number
  /** Those of the fast path whose signature was read from the bytes of their head. */
  answeredUnparsed: number
  /** As if more requests were in flight than are admitted. */
  isOverLimit: boolean
}

const NO_ROOM = new Admission({ ...ADMISSION_LIMITS, requestsMax: 0 })

/** Only the first has the fast path. */
async function compare({ parts, clock }: Served, options: Partial<ServingParts>): Promise<Compared> {
  const logs: Compared['logs'] = [[], []]
  const states: Compared['states'] = [[], []]
  const metrics: Compared['metrics'] = [
    new RequestMetrics(['GetObject', 'HeadObject'], ['svc', 's3']),
    new RequestMetrics(['GetObject', 'HeadObject'], ['svc', 's3']),
  ]
  const serving = (side: 0 | 1) => ({
    store: parts.store,
    directory: new IdentityCache(parts.store.context, undefined),
    clock,
    random: systemRandom,
    region: 'us-east-1',
    baseHosts: [BASE_HOST],
    website: { hosts: [`website.${BASE_HOST}`], onBucketHost: true },
    logger: { log: (line: object) => logs[side].push({ ...line }), notice: () => {}, abort: () => {} },
    sinks: { metrics: metrics[side] },
    ...options,
  })
  const [pipeline, other] = [pipelineFor(serving(0)), pipelineFor(serving(1))]
  const compared = { answered: 0, answeredOnSocket: 0, handledOnSocket: 0, answeredUnparsed: 0, isOverLimit: false }
  const admitted = (exchange: Exchange): Exchange =>
    compared.isOverLimit ? { ...exchange, slot: NO_ROOM.enter() } : exchange
  const readImmediately = (exchange: Exchange, wholeBytesMax?: number) => {
    const count = (state: RequestState | undefined): RequestState | undefined => {
      if (state === undefined) return undefined
      compared.answered++
      // Only a connection that the runtime has not taken over has a limit.
      if (wholeBytesMax !== undefined) compared.answeredOnSocket++
      if (exchange.request instanceof SignedHead) compared.answeredUnparsed++
      states[0].push(state)
      return state
    }
    const state = pipeline.readImmediately(admitted(exchange), wholeBytesMax)
    return state instanceof Promise ? state.then(count) : count(state)
  }
  const handled = async (side: 0 | 1, handling: Promise<RequestState>): Promise<RequestState> => {
    const state = await handling
    states[side].push(state)
    return state
  }
  const handle = (exchange: Exchange): Promise<RequestState> => {
    if (exchange.body instanceof WholeBody) compared.handledOnSocket++
    return handled(0, pipeline.handle(admitted(exchange)))
  }
  const listeners: Both<Listener> = [
    listenerOver({ handle, readImmediately }, serving(0)),
    listenerOver({ handle: exchange => handled(1, other.handle(admitted(exchange))) }, serving(1)),
  ]
  const [one, two] = [await listeners[0].listen('127.0.0.1', 0), await listeners[1].listen('127.0.0.1', 0)]
  const transport = options.certificate === undefined ? ('plain' as const) : ('TLS' as const)
  const { readers } = parts.store.context
  const both = { listeners, ports: [one.port, two.port] as const, logs, metrics, states }
  return Object.assign(compared, both, { transport, readers })
}

const XML = (root: string, inner: string): string => `<${root}>${inner}</${root}>`
const DENY = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Deny', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::ruled/denied' }],
})
const DAY = 86_400_000

const md5 = (body: string | Buffer): string => createHash('md5').update(body).digest('base64')

type Headers = [string, string][]

/** Requests that create buckets and objects, and succeed. */
class Writes {
  readonly #served: Served

  constructor(served: Served) {
    this.#served = served
  }

  async made(client: Client, what: Parameters<Client['send']>[0]): Promise<void> {
    const headers = [...(what.headers ?? []), ['content-md5', md5(what.body ?? '')] as const]
    const { status, body } = await client.send({ ...what, headers })
    assert.ok(status < 300, `${what.method} ${what.bucket}${what.path}: ${status} ${body}`)
  }

  bucket(name: string, headers: Headers = [], as: Who = MAIN): Promise<void> {
    return this.made(this.#served.svc, { method: 'PUT', bucket: name, path: '/', headers, as })
  }

  put(name: string, key: string, body: string | Buffer, headers: Headers = [], as: Who = MAIN): Promise<void> {
    return this.made(this.#served.s3, { method: 'PUT', bucket: name, path: `/${key}`, body, headers, as })
  }
}

/** Buckets and objects of every kind that a read may meet. */
async function fill(served: Served): Promise<void> {
  const writes = new Writes(served)
  await fillPlain(writes, served)
  await fillRuled(writes, served)
}

async function fillPlain(writes: Writes, { svc, s3 }: Served): Promise<void> {
  await writes.bucket('plain')
  await writes.put('plain', 'small', 'abc', [['content-type', 'text/plain']])
  await writes.put('plain', 'empty', '')
  await writes.put('plain', 'packed', Buffer.alloc(100_000, 'p'))
  await writes.put('plain', 'long', Buffer.alloc(700_000, 'l'))
  await writes.put('plain', 'dir/with~odd_.-name', 'odd', [
    [':meta-name', 'caf\xc3\xa9'],
    ['cache-control', 'no-store'],
    [':tagging', 'a=1'],
    [':storage-class', 'STANDARD_IA'],
    [':website-redirect-location', '/elsewhere'],
  ])
  await writes.put('plain', 'a%20b', 'space')
  await writes.put('plain', 'a%2520b', 'an escape in the key itself')
  await writes.put('plain', 'public', 'public', [[':acl', 'public-read']])
  await writes.put('plain', 'summed', 'summed', [[':checksum-crc32', '1lD8fQ==']])
  await writes.put('plain', 'sealed', 'sealed', [[':server-side-encryption', 'AES256']])
  await writes.bucket('versioned')
  await writes.made(s3, {
    method: 'PUT',
    bucket: 'versioned',
    path: '/?versioning',
    body: XML('VersioningConfiguration', '<Status>Enabled</Status>'),
  })
  for (const body of ['one', 'two']) await writes.put('versioned', 'small', body)
  await writes.put('versioned', 'deleted', 'gone')
  await writes.made(svc, { method: 'DELETE', bucket: 'versioned', path: '/deleted' })
}

async function fillRuled(writes: Writes, { s3, clock }: Served): Promise<void> {
  await writes.bucket('locked', [[':bucket-object-lock-enabled', 'true']])
  await writes.put('locked', 'held', 'held', [[':object-lock-legal-hold', 'ON']])
  await writes.put('locked', 'retained', 'kept', [
    [':object-lock-mode', 'GOVERNANCE'],
    [':object-lock-retain-until-date', new Date(clock.now() + DAY).toISOString()],
  ])
  await writes.put('locked', 'small', 'free')
  await writes.bucket('ruled')
  for (const key of ['denied', 'small']) await writes.put('ruled', key, key)
  await writes.made(s3, { method: 'PUT', bucket: 'ruled', path: '/?policy', body: DENY })
  await writes.bucket('expiring')
  await writes.put('expiring', 'small', 'soon')
  const rule = '<Rule><ID>a</ID><Filter/><Status>Enabled</Status><Expiration><Days>3</Days></Expiration></Rule>'
  await writes.made(s3, {
    method: 'PUT',
    bucket: 'expiring',
    path: '/?lifecycle',
    body: XML('LifecycleConfiguration', rule),
  })
  await writes.bucket('charged')
  await writes.put('charged', 'small', 'paid', [[':acl', 'public-read']])
  await writes.made(s3, {
    method: 'PUT',
    bucket: 'charged',
    path: '/?requestPayment',
    body: XML('RequestPaymentConfiguration', '<Payer>Requester</Payer>'),
  })
  await writes.bucket('foreign', [], OTHER)
  await writes.put('foreign', 'small', 'secret', [], OTHER)
  await writes.bucket('shared', [[':acl', 'public-read-write']])
  await writes.put('shared', 'small', 'of its writer', [], OTHER)
  await writes.put('foreign', 'public', 'shared', [[':acl', 'authenticated-read']], OTHER)
}

export interface Request {
  readonly target: readonly [bucket: string, key: string]
  readonly method: string
  readonly dialect: DialectName
  readonly inHost: boolean
  /** The whole Host header, instead. */
  readonly host?: string
  readonly who: Who | null
  readonly presigned: boolean
  readonly region: string
  readonly ageSeconds: number
  readonly headers: readonly (readonly [string, string])[]
  readonly parameters: readonly (readonly [string, string])[]
}

export const PLAIN: Request = {
  target: ['plain', 'small'],
  method: 'GET',
  dialect: 's3',
  inHost: false,
  who: MAIN,
  presigned: false,
  region: 'us-east-1',
  ageSeconds: 0,
  headers: [],
  parameters: [],
}

export function headOf(of: Request, { svc, s3, clock }: Served): string {
  const client = of.dialect === 'svc' ? svc : s3
  const [bucket, key] = of.target
  const host = of.host ?? (of.inHost ? `${bucket}.${BASE_HOST}` : BASE_HOST)
  const path = of.inHost ? `/${key}` : `/${bucket}/${key}`
  const { method, region, headers } = of
  const query = of.parameters.map(([name, value]) => (value === '' ? name : `${name}=${value}`)).join('&')
  const target = query === '' ? path : `${path}?${query}`
  if (!of.presigned || of.who === null) {
    return client.head({ method, host, path: target, headers, as: of.who, region, hash: 'UNSIGNED-PAYLOAD' })
  }
  const now = clock.now() - of.ageSeconds * 1_000
  const by = { key: of.who, region, now, seconds: 1_000 }
  const origin = `http://${host}`
  const url = presign(
    SCHEMES[of.dialect],
    { method, origin, path, query: Object.fromEntries(of.parameters), headers: {} },
    by,
  )
  return client.head({ method, host, path: url.slice(origin.length), headers, as: null })
}

/** Ids and times differ between two responses to the same request. */
export const comparable = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replace(/^(x-(?:amz|svc)-(?:request-id|id-2)|date): .*$/gim, '$1')
    .replace(/<(RequestId|HostId|ServerTime)>[^<]*/g, '<$1>')
    .replace(/<li>(RequestId|HostId): [^<]*/g, '<li>$1')

/** Sends these bytes on a new connection; all that comes back until it closes. */
type Exchanging = (compared: Compared, port: number, bytes: string) => Promise<string>

const exchanged: Exchanging = async ({ transport }, port, bytes) => {
  const socket = await open(port, transport)
  socket.write(Buffer.from(bytes, 'latin1'))
  return comparable(await received(socket))
}

/** The first line of an error, without the stack. */
const withoutIds = ({ requestId: _, milliseconds: __, error, ...line }: Record<string, unknown>) => ({
  ...line,
  error: error && String(error).split('\n', 1)[0],
})

/** All that a sink may tell of a request. Its decoded form is left out: only conditions and operations need it. */
const told = ({ request: _, body: __, early: ___, response, ...state }: RequestState): unknown => ({
  ...state,
  response: { ...response, body: undefined },
})

/** Counters, without the times of histograms. */
export const counted = (metrics: RequestMetrics): unknown[] =>
  metrics.samples().filter(([name, labels]) => !/seconds/.test(`${name}${labels}`))

export async function withComparison(
  run: (compared: Compared, served: Served) => Promise<void>,
  options: Partial<ServingParts> = {},
): Promise<void> {
  await withServer(async served => {
    await fill(served)
    const compared = await compare(served, options)
    try {
      // The first request of a key loads it.
      for (const who of [MAIN, READER, OTHER]) await warm(compared, served, who)
      await run(compared, served)
    } finally {
      for (const listener of compared.listeners) await listener.abort()
    }
  })
}

export async function warm(compared: Compared, { s3 }: Served, who: Who): Promise<void> {
  const head = s3.head({ method: 'GET', host: BASE_HOST, path: '/plain/small', as: who })
  for (const port of compared.ports) await exchanged(compared, port, asking(head, 'close'))
}

/** Pipelined reads are decided in any order. */
const sorted = <T>(list: readonly T[], textOf: (of: T) => string): T[] =>
  [...list].sort((a, b) => textOf(a).localeCompare(textOf(b)))

const lines = (log: readonly Record<string, unknown>[]): unknown[] =>
  sorted(log.map(withoutIds), line => JSON.stringify(line))

const records = (states: readonly RequestState[]): unknown[] =>
  sorted(states, ({ resource, operationName, response }) => `${resource} ${operationName} ${response.status}`).map(told)

/** The same bytes to one after the other; they must respond, log and record alike. */
export async function bothExchange(compared: Compared, bytes: string, exchange = exchanged): Promise<string> {
  const { logs, states, ports } = compared
  for (const list of [...logs, ...states]) list.length = 0
  compared.answered = 0
  compared.answeredOnSocket = 0
  compared.handledOnSocket = 0
  compared.answeredUnparsed = 0
  const fast = await exchange(compared, ports[0], bytes)
  assert.equal(compared.readers.count, 0)
  assert.equal(fast, await exchange(compared, ports[1], bytes))
  assert.deepEqual(lines(logs[0]), lines(logs[1]))
  assert.deepEqual(records(states[0]), records(states[1]))
  return fast
}

export const bothAnswer = (compared: Compared, head: string, kind: ConnectionKind = 'close'): Promise<string> =>
  bothExchange(compared, asking(head, kind))

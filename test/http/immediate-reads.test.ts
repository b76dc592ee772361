/** The fast path of plain reads answers as the pipeline does: the same bytes, log lines and metrics. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { presign } from '../../src/auth/sign-request.ts'
import { SCHEMES } from '../../src/auth/signing.ts'
import type { Exchange } from '../../src/edge/exchange.ts'
import type { Listener } from '../../src/edge/listener.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { listenerOver, pipelineFor } from '../../src/server/object-api.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import { RequestMetrics } from '../../src/telemetry/exchange-recorder.ts'
import { onEngines } from '../engines.ts'
import { asking, open, received } from './raw-exchange.ts'
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

const LOCAL = { skip: onEngines && 'an engine behind a network is never read at once' }

interface Compared {
  readonly immediate: Listener
  readonly inSteps: Listener
  readonly ports: readonly [number, number]
  readonly logs: readonly [Record<string, unknown>[], Record<string, unknown>[]]
  readonly metrics: readonly [RequestMetrics, RequestMetrics]
  /** Requests that the fast path answered. */
  answered: number
}

/** Two listeners on one store; the second has no fast path. */
async function compare({ parts, clock }: Served): Promise<Compared> {
  const logs: Compared['logs'] = [[], []]
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
  })
  const [pipeline, other] = [pipelineFor(serving(0)), pipelineFor(serving(1))]
  const compared = { answered: 0 }
  const readAtOnce = (exchange: Exchange) => {
    const state = pipeline.readAtOnce(exchange)
    if (state !== undefined) compared.answered++
    return state
  }
  const handle = (exchange: Exchange) => pipeline.handle(exchange)
  const immediate = listenerOver({ handle, readAtOnce }, serving(0))
  const inSteps = listenerOver({ handle: exchange => other.handle(exchange) }, serving(1))
  const [one, two] = [await immediate.listen('127.0.0.1', 0), await inSteps.listen('127.0.0.1', 0)]
  return Object.assign(compared, { immediate, inSteps, ports: [one.port, two.port] as const, logs, metrics })
}

const XML = (root: string, inner: string): string => `<${root}>${inner}</${root}>`
const DENY = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Deny', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::ruled/denied' }],
})
const DAY = 86_400_000

const md5 = (body: string | Buffer): string => createHash('md5').update(body).digest('base64')

/** Buckets and objects of every kind that a read may meet. */
async function fill({ svc, s3, clock }: Served): Promise<void> {
  const made = async (client: Client, what: Parameters<Client['send']>[0]): Promise<void> => {
    const headers = [...(what.headers ?? []), ['content-md5', md5(what.body ?? '')] as const]
    const { status, body } = await client.send({ ...what, headers })
    assert.ok(status < 300, `${what.method} ${what.bucket}${what.path}: ${status} ${body}`)
  }
  const bucket = (name: string, headers: [string, string][] = [], as: Who = MAIN) =>
    made(svc, { method: 'PUT', bucket: name, path: '/', headers, as })
  const put = (name: string, key: string, body: string | Buffer, headers: [string, string][] = [], as: Who = MAIN) =>
    made(s3, {
      method: 'PUT',
      bucket: name,
      path: `/${key}`,
      body,
      headers,
      as,
    })
  await bucket('plain')
  await put('plain', 'small', 'abc', [['content-type', 'text/plain']])
  await put('plain', 'empty', '')
  await put('plain', 'packed', Buffer.alloc(100_000, 'p'))
  await put('plain', 'long', Buffer.alloc(700_000, 'l'))
  await put('plain', 'dir/with~odd_.-name', 'odd', [
    [':meta-name', 'caf\xc3\xa9'],
    ['cache-control', 'no-store'],
    [':tagging', 'a=1'],
    [':storage-class', 'STANDARD_IA'],
    [':website-redirect-location', '/elsewhere'],
  ])
  await put('plain', 'a%20b', 'space')
  await put('plain', 'public', 'public', [[':acl', 'public-read']])
  await put('plain', 'sealed', 'sealed', [[':server-side-encryption', 'AES256']])
  await bucket('versioned')
  await made(s3, {
    method: 'PUT',
    bucket: 'versioned',
    path: '/?versioning',
    body: XML('VersioningConfiguration', '<Status>Enabled</Status>'),
  })
  for (const body of ['one', 'two']) await put('versioned', 'small', body)
  await put('versioned', 'deleted', 'gone')
  await made(svc, { method: 'DELETE', bucket: 'versioned', path: '/deleted' })
  await bucket('locked', [[':bucket-object-lock-enabled', 'true']])
  await put('locked', 'held', 'held', [[':object-lock-legal-hold', 'ON']])
  await put('locked', 'retained', 'kept', [
    [':object-lock-mode', 'GOVERNANCE'],
    [':object-lock-retain-until-date', new Date(clock.now() + DAY).toISOString()],
  ])
  await put('locked', 'small', 'free')
  await bucket('ruled')
  for (const key of ['denied', 'small']) await put('ruled', key, key)
  await made(s3, { method: 'PUT', bucket: 'ruled', path: '/?policy', body: DENY })
  await bucket('expiring')
  await put('expiring', 'small', 'soon')
  const rule = '<Rule><ID>a</ID><Filter/><Status>Enabled</Status><Expiration><Days>3</Days></Expiration></Rule>'
  await made(s3, {
    method: 'PUT',
    bucket: 'expiring',
    path: '/?lifecycle',
    body: XML('LifecycleConfiguration', rule),
  })
  await bucket('charged')
  await put('charged', 'small', 'paid', [[':acl', 'public-read']])
  await made(s3, {
    method: 'PUT',
    bucket: 'charged',
    path: '/?requestPayment',
    body: XML('RequestPaymentConfiguration', '<Payer>Requester</Payer>'),
  })
  await bucket('foreign', [], OTHER)
  await put('foreign', 'small', 'secret', [], OTHER)
  await put('foreign', 'public', 'shared', [[':acl', 'authenticated-read']], OTHER)
}

const TARGETS = [
  ...['small', 'empty', 'packed', 'long', 'dir/with~odd_.-name', 'public', 'sealed'].map(key => ['plain', key]),
  ['plain', 'a%20b'],
  ['plain', 'missing'],
  ['plain', '/small'],
  ['plain', 'sm%61ll'],
  ['plain', ''],
  ['versioned', 'small'],
  ['versioned', 'deleted'],
  ...['held', 'retained', 'small'].map(key => ['locked', key]),
  ...['denied', 'small'].map(key => ['ruled', key]),
  ['expiring', 'small'],
  ['charged', 'small'],
  ['foreign', 'small'],
  ['foreign', 'public'],
  ['absent', 'small'],
  ['Not_A_Bucket', 'small'],
] as [string, string][]

const STRANGER: Who = { accessKey: 'AKNOBODY', secretKey: 'none', accountId: '', canonicalId: '' }
const FORGER: Who = { ...MAIN, secretKey: 'guessed' }

const HEADERS: [string, string][] = [
  ['accept', '*/*'],
  ['accept', 'text/html'],
  ['user-agent', 'a client'],
  ['cache-control', 'no-cache'],
  ['range', 'bytes=1-2'],
  ['if-none-match', '*'],
  ['if-modified-since', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ['origin', 'https://page.example'],
  ['expect', '100-continue'],
  ['content-length', '0'],
  [':checksum-mode', 'ENABLED'],
  [':expected-bucket-owner', '000000000000'],
  [':request-payer', 'requester'],
  [':server-side-encryption-customer-algorithm', 'AES256'],
  ['x-amz-meta-other', 'dialect'],
  ['x-svc-meta-other', 'dialect'],
  ['host', 'second.example'],
]

const PARAMETERS: [string, string][] = [
  ['x-id', 'GetObject'],
  ['versionId', 'null'],
  ['partNumber', '1'],
  ['response-content-type', 'text/css'],
  ['acl', ''],
  ['other', 'unknown'],
]

const requests = fc.record({
  target: fc.constantFrom(...TARGETS),
  method: fc.constantFrom('GET', 'GET', 'HEAD', 'POST'),
  dialect: fc.constantFrom<DialectName>('svc', 's3'),
  inHost: fc.boolean(),
  who: fc.constantFrom<Who | null>(MAIN, MAIN, READER, OTHER, STRANGER, FORGER, null),
  presigned: fc.boolean(),
  region: fc.constantFrom('us-east-1', 'us-east-1', 'eu-west-1'),
  ageSeconds: fc.constantFrom(0, 0, 0, 50, 2_000),
  headers: fc.oneof(fc.constant<[string, string][]>([]), fc.uniqueArray(fc.constantFrom(...HEADERS), { maxLength: 2 })),
  parameters: fc.oneof(
    fc.constant<[string, string][]>([]),
    fc.uniqueArray(fc.constantFrom(...PARAMETERS), { maxLength: 1 }),
  ),
})
type Request = typeof requests extends fc.Arbitrary<infer T> ? T : never

function headOf(of: Request, { svc, s3, clock }: Served): string {
  const client = of.dialect === 'svc' ? svc : s3
  const [bucket, key] = of.target
  const host = of.inHost ? `${bucket}.${BASE_HOST}` : BASE_HOST
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
const comparable = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replace(/^(x-(?:amz|svc)-(?:request-id|id-2)|date): .*$/gim, '$1')
    .replace(/<(RequestId|HostId|ServerTime)>[^<]*/g, '<$1>')

async function send(port: number, head: string): Promise<string> {
  const socket = await open(port, 'plain')
  socket.write(Buffer.from(asking(head, 'close'), 'latin1'))
  return comparable(await received(socket))
}

const withoutIds = ({ requestId: _, milliseconds: __, ...line }: Record<string, unknown>): Record<string, unknown> =>
  line

/** Counters, without the times of histograms. */
const counted = (metrics: RequestMetrics): unknown[] =>
  metrics.samples().filter(([name, labels]) => !/seconds/.test(`${name}${labels}`))

async function withComparison(run: (compared: Compared, served: Served) => Promise<void>): Promise<void> {
  await withServer(async served => {
    await fill(served)
    const compared = await compare(served)
    try {
      // The first request of a key loads it.
      for (const who of [MAIN, READER, OTHER]) {
        const first = served.s3.head({ method: 'GET', host: BASE_HOST, path: '/plain/small', as: who })
        for (const port of compared.ports) await send(port, first)
      }
      await run(compared, served)
    } finally {
      await compared.immediate.abort()
      await compared.inSteps.abort()
    }
  })
}

async function bothAnswer(compared: Compared, head: string): Promise<string> {
  for (const log of compared.logs) log.length = 0
  const [fast, general] = await Promise.all(compared.ports.map(port => send(port, head)))
  assert.equal(fast, general)
  assert.deepEqual(compared.logs[0].map(withoutIds), compared.logs[1].map(withoutIds))
  return fast!
}

test('random reads get the same response, log line and counters with and without the fast path', LOCAL, () =>
  withComparison(async (compared, served) => {
    let immediate = 0
    await fc.assert(
      fc.asyncProperty(requests, async request => {
        compared.answered = 0
        await bothAnswer(compared, headOf(request, served))
        immediate += compared.answered
      }),
      { numRuns: 400 },
    )
    assert.deepEqual(counted(compared.metrics[0]), counted(compared.metrics[1]))
    assert.ok(immediate >= 10, `${immediate} of 400 requests were answered at once`)
  }),
)

const PLAIN: Request = {
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

const CASES: [title: string, change: Partial<Request>, isImmediate: boolean][] = [
  ['a signed GET', {}, true],
  ['a HEAD', { method: 'HEAD' }, true],
  ['the svc dialect', { dialect: 'svc' }, true],
  ['a bucket in the host', { inHost: true }, true],
  ['a presigned URL', { presigned: true }, true],
  ['a presigned URL of svc', { presigned: true, dialect: 'svc' }, true],
  ['a user with a policy', { who: READER }, true],
  [
    'harmless headers',
    {
      headers: [
        ['user-agent', 'a'],
        ['accept', '*/*'],
      ],
    },
    true,
  ],
  ['an object in a volume', { target: ['plain', 'packed'] }, true],
  ['a long object', { target: ['plain', 'long'] }, true],
  ['an empty object', { target: ['plain', 'empty'] }, true],
  ['metadata, tags and a storage class', { target: ['plain', 'dir/with~odd_.-name'] }, true],
  ['the current of several versions', { target: ['versioned', 'small'] }, true],
  ['a grant of another account', { target: ['foreign', 'public'] }, true],
  ['an object of another account', { target: ['foreign', 'small'] }, false],
  ['a guessed secret', { who: FORGER }, false],
  ['a presigned URL by a guessed secret', { who: FORGER, presigned: true }, false],
  ['an expired URL', { presigned: true, ageSeconds: 2_000 }, false],
  ['an anonymous caller', { who: null, target: ['plain', 'public'] }, false],
  ['a bucket policy', { target: ['ruled', 'denied'] }, false],
  ['a legal hold', { target: ['locked', 'held'] }, false],
  ['lifecycle rules', { target: ['expiring', 'small'] }, false],
  ['requester pays', { target: ['charged', 'small'] }, false],
  ['an encrypted object', { target: ['plain', 'sealed'] }, false],
  ['a deleted object', { target: ['versioned', 'deleted'] }, false],
  ['a range', { headers: [['range', 'bytes=0-0']] }, false],
  ['a version id', { parameters: [['versionId', 'null']] }, false],
  ['two hosts', { headers: [['host', 'second.example']] }, false],
  ['headers of both dialects', { headers: [['x-svc-user-agent', 'a']] }, false],
  ['an escaped key', { target: ['plain', 'a%20b'] }, false],
]

for (const [title, change, isImmediate] of CASES) {
  test(`${isImmediate ? 'answered at once' : 'left to the pipeline'}: ${title}`, LOCAL, () =>
    withComparison(async (compared, served) => {
      compared.answered = 0
      await bothAnswer(compared, headOf({ ...PLAIN, ...change }, served))
      assert.equal(compared.answered, isImmediate ? 1 : 0)
    }),
  )
}

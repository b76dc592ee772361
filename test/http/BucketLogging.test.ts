/** GetBucketLogging, PutBucketLogging and log delivery. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { get as secureGet } from 'node:https'
import { test } from 'node:test'
import { SCHEMES } from '../../src/auth/signing.ts'
import type { ExchangeRecord } from '../../src/edge/exchange.ts'
import type { RequestState } from '../../src/edge/request-state.ts'
import type { Bucket } from '../../src/model/bucket.ts'
import { AccessLog } from '../../src/telemetry/access-log.ts'
import { accessRecord } from '../../src/telemetry/access-record.ts'
import type { Tracer } from '../../src/telemetry/tracer.ts'
import { chunkFrames, signedByHeader, signedByQuery } from '../specimens/signing.ts'
import { documentsOf, faultIs, md5, shown } from './bucket-documents.ts'
import { TEST_CERTIFICATE } from './certificate.ts'
import { BASE_HOST, type Client, inBoth, MAIN, makeBucket, OTHER, READER, type Served, withServer } from './server.ts'
import { exchange, until } from './wire.ts'

const NONE = '<BucketLoggingStatus></BucketLoggingStatus>'

const status = (target: string, prefix = 'logs/', more = ''): string =>
  `<BucketLoggingStatus><LoggingEnabled><TargetBucket>${target}</TargetBucket><TargetPrefix>${prefix}</TargetPrefix>` +
  `${more}</LoggingEnabled></BucketLoggingStatus>`

const wanting = (client: Client, name = 'log-target'): Promise<string> =>
  makeBucket(client, name, [[':acl', 'log-delivery-write']])

inBoth('R12 R103 R104 PutBucketLogging: off by default, set, returned and cleared', async client => {
  const bucket = await makeBucket(client)
  await wanting(client)
  const at = documentsOf(client, bucket, 'logging')
  assert.match(shown(await at.get()), /^<BucketLoggingStatus(\/>|><\/BucketLoggingStatus>)$/)
  for (const format of ['', '<TargetObjectKeyFormat><SimplePrefix/></TargetObjectKeyFormat>', '<TargetGrants/>']) {
    assert.equal((await at.put(status('log-target', 'logs/', format))).status, 200, format)
    assert.equal(shown(await at.get()), status('log-target'))
  }
  faultIs(await client.send({ method: 'PUT', bucket, path: '/?logging', body: NONE }), 400, 'InvalidRequest')
  const wrong = { method: 'PUT', bucket, path: '/?logging', body: NONE, headers: [md5('other')] }
  faultIs(await client.send(wrong), 400, 'BadDigest')
  assert.equal(shown(await at.get()), status('log-target'))
  assert.equal((await at.put(NONE)).status, 200)
  assert.doesNotMatch(shown(await at.get()), /LoggingEnabled/)
  assert.equal((await at.remove()).status, 405)
})

inBoth('R9 GetBucketLogging, PutBucketLogging: other accounts may neither read nor change it', async client => {
  const at = documentsOf(client, await makeBucket(client), 'logging')
  for (const as of [OTHER, READER, null]) {
    faultIs(await at.get(as), 403, 'AccessDenied')
    faultIs(await at.put(NONE, as), 403, 'AccessDenied')
  }
})

inBoth('R75 PutBucketLogging: an invalid document is refused without effect', async client => {
  const at = documentsOf(client, await makeBucket(client), 'logging')
  await wanting(client)
  await at.put(status('log-target'))
  const grants = '<TargetGrants><Grant/></TargetGrants>'
  const dated = '<TargetObjectKeyFormat><PartitionedPrefix/></TargetObjectKeyFormat>'
  for (const [body, code, codeStatus] of [
    ['nonsense', 'MalformedXML', 400],
    ['<Other/>', 'MalformedXML', 400],
    ['<BucketLoggingStatus><LoggingEnabled/></BucketLoggingStatus>', 'MalformedXML', 400],
    [status(''), 'MalformedXML', 400],
    [status('log-target', 'x', '<__proto__/>'), 'MalformedXML', 400],
    [status('log-target', 'x', '<TargetObjectKeyFormat/>'), 'MalformedXML', 400],
    [status('log-target', 'x'.repeat(989)), 'InvalidArgument', 400],
    [status('log-target', 'x', grants), 'NotImplemented', 501],
    [status('log-target', 'x', dated), 'NotImplemented', 501],
    [status('not-there'), 'InvalidTargetBucketForLogging', 400],
    [status('../etc'), 'InvalidTargetBucketForLogging', 400],
  ] as const) {
    faultIs(await at.put(body), codeStatus, code)
  }
  assert.equal(shown(await at.get()), status('log-target'))
})

inBoth('PutBucketLogging: the target has the same owner and grants log delivery by ACL or policy', async client => {
  const at = documentsOf(client, await makeBucket(client), 'logging')
  const send = (bucket: string, path: string, body: string, as = MAIN) =>
    client.send({ method: 'PUT', bucket, path, body, headers: [md5(body)], as })
  const refused = async (target: string): Promise<void> =>
    faultIs(await at.put(status(target)), 400, 'InvalidTargetBucketForLogging')
  const policy = (target: string, effect: string, principal: unknown, resource = 'logs/*'): string =>
    JSON.stringify({
      Statement: {
        Effect: effect,
        Principal: principal,
        Action: 'svc:PutObject',
        Resource: `arn:svc:svc:::${target}/${resource}`,
      },
    })
  const service = { Service: 'logging.s3.amazonaws.com' }
  await makeBucket(client, 'unwilling')
  await refused('unwilling')
  const made = await client.send({
    method: 'PUT',
    bucket: 'of-another',
    path: '/',
    headers: [[':acl', 'log-delivery-write']],
    as: OTHER,
  })
  assert.equal(made.status, 200)
  await refused('of-another')
  await wanting(client)
  assert.equal((await at.put(status('log-target'))).status, 200)
  for (const principal of ['*', service]) {
    assert.equal((await send('log-target', '/?policy', policy('log-target', 'Deny', principal))).status, 204)
    await refused('log-target')
  }
  const unnamed = policy('unwilling', 'Allow', { SVC: MAIN.accountId })
  assert.equal((await send('unwilling', '/?policy', unnamed)).status, 204)
  await refused('unwilling')
  const elsewhere = policy('unwilling', 'Allow', service, 'other/*')
  assert.equal((await send('unwilling', '/?policy', elsewhere)).status, 204)
  await refused('unwilling')
  assert.equal((await send('unwilling', '/?policy', policy('unwilling', 'Allow', service))).status, 204)
  assert.equal((await at.put(status('unwilling'))).status, 200)
  // Public write access, or access for another service, does not request log delivery.
  for (const principal of ['*', { SVC: '*' }, { Service: 'cloudtrail.amazonaws.com' }]) {
    assert.equal((await send('unwilling', '/?policy', policy('unwilling', 'Allow', principal))).status, 204)
    await refused('unwilling')
  }
  const both = policy('unwilling', 'Allow', { Service: ['cloudtrail.amazonaws.com', 'logging.svc'] })
  assert.equal((await send('unwilling', '/?policy', both)).status, 204)
  assert.equal((await at.put(status('unwilling'))).status, 200)
})

inBoth('PutBucketLogging: a policy for the logging service may restrict the source bucket', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'logging')
  await makeBucket(client, 'log-target')
  const target = documentsOf(client, 'log-target', 'policy')
  const allow = (condition: object): string =>
    JSON.stringify({
      Version: '2012-10-17',
      Statement: {
        Effect: 'Allow',
        Principal: { Service: 'logging.s3.amazonaws.com' },
        Action: 's3:PutObject',
        Resource: 'arn:aws:s3:::log-target/logs/*',
        Condition: condition,
      },
    })
  for (const [source, account, isWanted] of [
    [bucket, MAIN.accountId, true],
    ['another', MAIN.accountId, false],
    [bucket, OTHER.accountId, false],
  ] as const) {
    const named = {
      ArnLike: { 'aws:SourceArn': `arn:aws:s3:::${source}` },
      StringEquals: { 'aws:SourceAccount': account },
    }
    assert.equal((await target.put(allow(named))).status, 204)
    const answer = await at.put(status('log-target'))
    if (isWanted) assert.equal(answer.status, 200, answer.body.toString())
    else faultIs(answer, 400, 'InvalidTargetBucketForLogging')
  }
  assert.equal((await target.put(allow({ Bool: { 'aws:SecureTransport': 'true' } }))).status, 204)
  assert.equal((await at.put(status('log-target'))).status, 200)
})

interface Logged extends Served {
  readonly accessLog: AccessLog
  readonly failures: unknown[]
  readonly counts: () => number[]
  /** Everything that was delivered, a list of fields per line. */
  readonly delivered: () => Promise<{ readonly keys: string[]; readonly lines: string[][] }>
  readonly waiting: () => Promise<void>
}

const FIELD = /\[[^\]]*\]|"[^"]*"|[^ ]+/g

async function withLog(use: (logged: Logged) => Promise<void>): Promise<void> {
  // The log needs the server's store, which does not exist yet.
  const made: { log?: AccessLog; seen: number } = { seen: 0 }
  const failures: unknown[] = []
  const accessLog = {
    add: (bucket: Bucket, state: RequestState, exchange: ExchangeRecord) => made.log!.add(bucket, state, exchange),
  } as AccessLog
  // Sees every request, also those that are not logged.
  const tracer = { ended: () => void made.seen++ } as unknown as Tracer
  await withServer(
    async served => {
      const { store } = served.parts
      made.log = new AccessLog(store, (_bucket, error) => failures.push(error))
      const delivered = async () => {
        await made.log!.deliver()
        const listed = await served.s3.send({ method: 'GET', bucket: 'log-target', path: '/?list-type=2' })
        const keys = [...listed.body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map(match => match[1]!)
        const texts: string[] = []
        for (const key of keys) {
          texts.push((await served.s3.send({ method: 'GET', bucket: 'log-target', path: `/${key}` })).body.toString())
        }
        const lines = texts.flatMap(text => text.split('\n').filter(Boolean))
        return { keys, lines: lines.map(line => line.match(FIELD) ?? []) }
      }
      const counts = (): number[] => made.log!.samples().map(([, , value]) => value)
      const waiting = async (): Promise<void> => {
        const before = made.seen
        await served.s3.send({ method: 'GET', path: '/' })
        assert(await until(() => made.seen > before))
      }
      await use({ ...served, accessLog: made.log, failures, counts, delivered, waiting })
    },
    { sinks: { accessLog, tracer } },
  )
}

test('access logs: one line per request in the S3 format, with credentials redacted', () =>
  withLog(async ({ s3, delivered, waiting, counts }) => {
    const bucket = await makeBucket(s3)
    await wanting(s3)
    await s3.send({ method: 'PUT', bucket, path: '/before', body: 'x' })
    await documentsOf(s3, bucket, 'logging').put(status('log-target'))
    const agent: [string, string][] = [
      ['User-Agent', 'a "quoted" agent'],
      ['Referer', 'http://example.com/\u00e9'],
    ]
    const put = await s3.send({ method: 'PUT', bucket, path: '/a%20key', body: 'four', headers: agent })
    await s3.send({ method: 'GET', bucket, path: '/a%20key', headers: [['Range', 'bytes=0-1']] })
    await s3.send({ method: 'GET', bucket, path: '/a%20key', as: READER })
    await s3.send({ method: 'GET', bucket, path: '/none', as: null })
    await s3.send({ method: 'GET', bucket, path: '/?list-type=2' })
    await s3.send({ method: 'GET', bucket, path: '/?acl' })
    const copied: [string, string][] = [[':copy-source', `${bucket}/before`]]
    await s3.send({ method: 'PUT', bucket, path: '/copy', headers: copied })
    const { accessKey, secretKey } = MAIN
    const signer = { scheme: SCHEMES.s3, accessKey, secretKey, region: 'us-east-1', now: s3.clock.now() }
    const request = {
      method: 'GET',
      target: '/before',
      headers: [['Host', `${bucket}.${BASE_HOST}`]] as [string, string][],
    }
    const link = signedByQuery(signer, request, { contentHash: undefined, seconds: 600 })
    const from = `Referer: http://${bucket}.${BASE_HOST}${link.request.target}&page=1\r\n`
    await exchange(s3.port, `GET ${link.request.target} HTTP/1.1\r\nHost: ${bucket}.${BASE_HOST}\r\n${from}\r\n`)
    await waiting()
    const { keys, lines } = await delivered()
    assert.equal(keys.length, 1)
    assert.match(keys[0]!, /^logs\/2026-01-01-00-00-00-[0-9A-F]{16}$/)
    assert(lines.every(line => line.length === 26))
    assert.deepEqual(
      lines.map(line => `${line[6]} ${line[7]} ${line[9]} ${line[10]} ${line[11]} ${line[12]}`),
      [
        'REST.PUT.OBJECT a%20key 200 - - 4',
        'REST.GET.OBJECT a%20key 206 - 2 4',
        'REST.GET.OBJECT a%20key 200 - 4 4',
        `REST.GET.OBJECT none 403 AccessDenied ${lines[3]![11]} -`,
        `REST.GET.BUCKET - 200 - ${lines[4]![11]} -`,
        `REST.GET.ACL - 200 - ${lines[5]![11]} -`,
        `REST.COPY.OBJECT copy 200 - ${lines[6]![11]} -`,
        'REST.GET.OBJECT before 200 - 1 1',
      ],
    )
    const [first, , reader, anonymous] = lines
    assert.deepEqual(
      [first![0], first![1], first![2], first![4], first![5]],
      [MAIN.canonicalId, bucket, '[01/Jan/2026:00:00:00 +0000]', MAIN.canonicalId, put.own('request-id')],
    )
    assert.equal(first![8], '"PUT /a%20key HTTP/1.1"')
    assert.deepEqual([first![15], first![16]], ['"http://example.com/%C3%A9"', '"a %22quoted%22 agent"'])
    assert.deepEqual([first![19], first![21], first![22]], ['SigV4', 'AuthHeader', `${bucket}.${BASE_HOST}`])
    assert.equal(reader![4], `arn:svc:iam::${READER.accountId}:user/reader`)
    assert.deepEqual([anonymous![4], anonymous![19], anonymous![21]], ['-', '-', '-'])
    const linked = lines.at(-1)!
    assert.equal(linked[21], 'QueryString')
    assert.match(linked[8]!, /Signature=REDACTED/)
    assert.match(linked[15]!, /Signature=REDACTED.*&page=1"$/)
    assert(!JSON.stringify(lines).includes(link.signature))
    assert.deepEqual(counts(), [8, 0])
  }))

test('access logs: the size of an object that was sent in chunks does not include their frames', () =>
  withLog(async ({ s3, delivered, waiting }) => {
    const bucket = await makeBucket(s3)
    await wanting(s3)
    await documentsOf(s3, bucket, 'logging').put(status('log-target'))
    const { accessKey, secretKey } = MAIN
    const signer = { scheme: SCHEMES.s3, accessKey, secretKey, region: 'us-east-1', now: s3.clock.now() }
    const headers: [string, string][] = [
      ['Host', `${bucket}.${BASE_HOST}`],
      ['x-amz-decoded-content-length', '4'],
    ]
    const put = { method: 'PUT', target: '/k', headers }
    const { request, signature } = signedByHeader(signer, put, { contentHash: SCHEMES.s3.signedChunks })
    const chunks = { pieces: [Buffer.from('four')], seed: signature, trailers: undefined }
    const body = Buffer.concat(chunkFrames(signer, chunks))
    const lines = [...request.headers, ['Content-Length', body.length]].map(([name, value]) => `${name}: ${value}\r\n`)
    const made = await exchange(s3.port, `PUT /k HTTP/1.1\r\n${lines.join('')}\r\n`, body)
    assert.equal(made?.status, 200)
    await waiting()
    const [line] = (await delivered()).lines
    assert.deepEqual([line?.[6], line?.[12]], ['REST.PUT.OBJECT', '4'])
  }))

test('access logs: the TLS version and the cipher of a connection', async () => {
  const lines: string[] = []
  const bucket = { name: 'bucket', owner: MAIN.canonicalId } as Bucket
  const tracer = {
    ended: (state: RequestState, exchange: ExchangeRecord) => lines.push(accessRecord(bucket, state, exchange, 0)),
  } as unknown as Tracer
  const use = async ({ s3 }: Served): Promise<void> => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const how = { minVersion: version, maxVersion: version, rejectUnauthorized: false, agent: false } as const
      const sent = secureGet({ ...how, port: s3.port, host: '127.0.0.1', path: '/', headers: { host: BASE_HOST } })
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      answer.resume()
      await once(answer, 'end')
    }
    assert(await until(() => lines.length === 2))
  }
  await withServer(use, { certificate: TEST_CERTIFICATE, sinks: { tracer } })
  const shown = lines.map(line => line.match(FIELD)!).map(fields => [fields[23], fields[20]!.replace(/.*_/, '')])
  // Bun does not expose them.
  if (process.versions.bun !== undefined) return
  assert.deepEqual(
    shown.map(([version]) => version),
    ['TLSv1.2', 'TLSv1.3'],
  )
  for (const [, cipher] of shown) assert.match(cipher!, /SHA/)
})

test('access logs: delivery stops when the target withdraws its grant, and is not logged itself', () =>
  withLog(async ({ s3, delivered, waiting, counts, failures }) => {
    const bucket = await makeBucket(s3)
    await wanting(s3)
    const at = documentsOf(s3, bucket, 'logging')
    await at.put(status('log-target'))
    await documentsOf(s3, 'log-target', 'logging').put(status('log-target', 'own/'))
    await s3.send({ method: 'GET', bucket, path: '/' })
    await waiting()
    const { keys } = await delivered()
    assert.equal(keys.filter(key => key.startsWith('logs/')).length, 1)
    await s3.send({ method: 'PUT', bucket: 'log-target', path: '/?acl', headers: [[':acl', 'private']] })
    await s3.send({ method: 'GET', bucket, path: '/' })
    await waiting()
    const before = counts()
    await delivered()
    assert(failures.length > 0 && failures.every(failure => /logging|log[- ]delivery/.test(String(failure))))
    assert.equal(counts()[0], before[0])
    assert(counts()[1]! > before[1]!)
    failures.length = 0
    await s3.send({ method: 'GET', bucket, path: '/' })
    await at.put(NONE)
    await documentsOf(s3, 'log-target', 'logging').put(NONE)
    await waiting()
    await delivered()
    assert.deepEqual(failures, [], 'that nobody wants it is no failure')
  }))

test('access logs: the target’s default encryption applies, and excess lines are dropped', () =>
  withLog(async ({ s3, parts, accessLog, waiting, counts }) => {
    const bucket = await makeBucket(s3)
    await wanting(s3)
    const sealed =
      '<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256' +
      '</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>'
    assert.equal((await documentsOf(s3, 'log-target', 'encryption').put(sealed)).status, 200)
    await documentsOf(s3, bucket, 'logging').put(status('log-target', ''))
    await s3.send({ method: 'GET', bucket, path: '/' })
    await waiting()
    await accessLog.deliver()
    const { store } = parts
    const page = await s3.send({ method: 'GET', bucket: 'log-target', path: '/' })
    const key = /<Key>([^<]*)<\/Key>/.exec(page.body.toString())![1]!
    const head = await store.objects.head({ bucket: 'log-target', key })
    assert.deepEqual([head.encryption?.by, head.owner], ['service', MAIN.canonicalId])
    const record = { ...(await store.buckets.get(bucket)), documents: ['logging'] }
    const outcome = {
      bucket: record,
      operationName: 'GetObject',
      resource: `/${bucket}/k`,
      code: 'ok',
      dialect: { name: 's3' },
    }
    const ended = {
      requestId: 'A',
      hostId: 'B',
      request: { method: 'GET', target: `/${'x'.repeat(15_000)}`, headers: [] },
      status: 200,
      remoteAddress: '::1',
      secure: false,
      milliseconds: 1,
      aborted: false,
      receivedBytes: 0,
      sentBytes: 0,
      totalMilliseconds: 1,
    }
    const state = { ...outcome, response: { status: 200, headers: [], body: undefined, close: false } }
    for (let at = 0; at < 2000; at++) accessLog.add(record, state as unknown as RequestState, ended)
    assert(counts()[1]! > 500)
    await accessLog.deliver()
    const dropped = counts()[1]!
    accessLog.add(record, state as unknown as RequestState, ended)
    assert.equal(counts()[1], dropped, 'there is room again')
  }))

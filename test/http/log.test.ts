/** The log: a line for every request, with the id that its client was given, and without secrets. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { SCHEMES } from '../../src/auth/signing.ts'
import type { Meta } from '../../src/meta/meta.ts'
import { onEngines } from '../engines.ts'
import { signedByQuery } from '../specimens/signing.ts'
import { md5Header } from './actions.ts'
import { customerKey, KEY, OTHER_KEY } from './parts.ts'
import { BASE_HOST, type Client, inBoth, MAIN, makeBucket, OTHER, type Sending } from './server.ts'
import { exchange, until } from './wire.ts'

const presigned = (client: Client, method: string, bucket: string) => {
  const { accessKey, secretKey } = MAIN
  const signer = { scheme: SCHEMES[client.dialect], accessKey, secretKey, region: 'us-east-1', now: client.clock.now() }
  const request = { method, target: '/k', headers: [['Host', `${bucket}.${BASE_HOST}`]] as [string, string][] }
  return signedByQuery(signer, request, { contentHash: undefined, seconds: 600 })
}

inBoth('every request is logged in one line with its request id', async (client, { log }) => {
  const bucket = await makeBucket(client)
  const before = log.length
  const asked: Sending[] = [
    { method: 'PUT', bucket, path: '/k', body: 'x' },
    { method: 'GET', bucket, path: '/k' },
    { method: 'HEAD', bucket, path: '/none' },
    { method: 'GET', bucket, path: '/k', as: null },
    { method: 'GET', bucket: 'not-there', path: '/k' },
    { method: 'OPTIONS', bucket, path: '/k' },
  ]
  const ids: (string | undefined)[] = []
  for (const what of asked) {
    const answer = await client.send(what)
    ids.push(answer.headers.get('x-svc-request-id') ?? answer.headers.get('x-amz-request-id'))
  }
  const raw = await exchange(client.port, 'NONSENSE\r\n\r\n')
  ids.push(raw?.headers.get('x-svc-request-id'))
  const lines = log.slice(before)
  assert.deepEqual(
    lines.map(({ requestId }) => requestId),
    ids,
  )
  assert.equal(new Set(ids).size, ids.length)
  assert(lines.every(({ level }) => level === 'info'))
  assert.deepEqual(
    lines.map(({ operation, status, code }) => `${operation} ${status} ${code}`),
    [
      'PutObject 200 ok',
      'GetObject 200 ok',
      'HeadObject 404 NoSuchKey',
      'GetObject 403 AccessDenied',
      'GetObject 404 NoSuchBucket',
      'Preflight 400 BadRequest',
      'unknown 400 BadRequest',
    ],
  )
  assert.deepEqual(
    [lines[0]?.caller, lines[0]?.resource, lines[3]?.caller],
    [MAIN.accessKey, `/${bucket}/k`, undefined],
  )
})

inBoth('A72: no key, signature or secret is logged, whatever fails', async (client, { log, parts }) => {
  const bucket = await makeBucket(client)
  const seen: string[] = []
  const ask = async (what: Sending): Promise<void> => {
    seen.push((await client.send(what)).body.toString())
  }
  const trios = [customerKey(KEY), customerKey(OTHER_KEY), customerKey(KEY).slice(1), customerKey(KEY.subarray(1))]
  for (const headers of trios) {
    for (const method of ['PUT', 'GET', 'HEAD']) {
      const body = method === 'PUT' ? 'x' : ''
      await ask({ method, bucket, path: '/k', headers, body })
      await ask({ method, bucket, path: '/k', headers, body, as: null })
      await ask({ method, bucket, path: '/k', headers, body, as: { ...MAIN, secretKey: 'not-my-secret' } })
    }
    const source: [string, string][] = [[':copy-source', `${bucket}/k`]]
    await ask({ method: 'PUT', bucket, path: '/copy', headers: [...source, ...headers] })
  }
  const good = presigned(client, 'GET', bucket)
  for (const target of [good.request.target, good.request.target.replace('/k?', '/other?')]) {
    await exchange(client.port, `GET ${target} HTTP/1.1\r\nHost: ${bucket}.${BASE_HOST}\r\n\r\n`)
    await exchange(client.port, `GET ${target} HTTP/1.1\r\nHost: ${bucket}.${BASE_HOST}\r\nA : b\r\n\r\n`)
  }
  const meta = parts.store.context.meta as { get: Meta['get'] }
  const look = meta.get.bind(meta)
  meta.get = () => Promise.reject(new Error('the disk is gone'))
  await ask({ method: 'GET', bucket, path: '/k', headers: customerKey(KEY) })
  meta.get = look
  const logged = JSON.stringify(log)
  // Records behind a network are not read one by one.
  if (!onEngines) assert.match(logged, /the disk is gone/)
  const keys = [KEY, OTHER_KEY].flatMap(key => [
    key.toString('base64'),
    key.toString('hex'),
    createHash('md5').update(key).digest('base64'),
  ])
  for (const secret of [...keys, good.signature, MAIN.secretKey, 'not-my-secret', 'Signature=', 'Credential=']) {
    assert(!logged.includes(secret), `logged: ${secret}`)
  }
  // The digest is returned to the client that sent the key; the key itself never is.
  for (const secret of [KEY.toString('base64'), OTHER_KEY.toString('base64'), MAIN.secretKey]) {
    assert(!seen.some(body => body.includes(secret)), `answered: ${secret}`)
  }
})

inBoth('A87: an internal error returns its request id and no internal detail', async (client, { log, parts }) => {
  const bucket = await makeBucket(client)
  const meta = parts.store.context.meta as { get: Meta['get'] }
  const look = meta.get.bind(meta)
  meta.get = () => Promise.reject(new Error('EIO: /var/lib/holdfast/meta/data.mdb'))
  const answer = await client.send({ method: 'GET', bucket, path: '/k' })
  meta.get = look
  assert.deepEqual([answer.status, answer.code()], [500, 'InternalError'])
  // Without the ids: random letters may spell any word.
  const told = answer.body.toString().replaceAll(/<(RequestId|HostId)>[^<]+<\/\1>/g, '')
  assert.doesNotMatch(told, /EIO|\/var|\.mdb|\.ts|\.js|at |Error:|node|HostId/)
  const id = answer.own('request-id')
  assert(await until(() => log.some(line => line.level === 'error' && line.requestId === id)))
  const line = log.find(({ level, requestId }) => level === 'error' && requestId === id)
  assert.match(String(line?.error), /EIO: \/var\/lib/, 'the operator is told')
})

inBoth('R9: the log contains the reason of a refusal, the response does not', async (client, { log }) => {
  const bucket = await makeBucket(client, 'test-bucket', [[':bucket-object-lock-enabled', 'true']])
  const headers: [string, string][] = [[':object-lock-legal-hold', 'ON'], md5Header('x')]
  const held = (await client.send({ method: 'PUT', bucket, path: '/k', body: 'x', headers })).own('version-id')
  const deny = { Sid: 'Secretive', Effect: 'Deny', Principal: '*', Action: 'svc:GetObject' }
  const policy = JSON.stringify({ Statement: { ...deny, Resource: `arn:svc:svc:::${bucket}/*` } })
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body: policy })).status, 204)
  const why = async (method: string, path: string, as: typeof MAIN): Promise<unknown> => {
    const answer = await client.send({ method, bucket, path, as })
    assert.equal(answer.status, 403)
    assert(!/Secretive|statement|nothing allows/.test(answer.body.toString()), answer.body.toString())
    return log.at(-1)?.why
  }
  assert.equal(await why('GET', '/k', MAIN), 'GetObject: Deny: bucket policy, statement 0 (Secretive)')
  const resourceSide = 'nothing allows it: neither the bucket policy nor an ACL does (resource side)'
  assert.equal(await why('GET', '/', OTHER), `ListBucket: ${resourceSide}`)
  assert.equal(await why('DELETE', `/k?versionId=${held}`, MAIN), 'lock: held')
  await client.send({ method: 'GET', bucket, path: '/' })
  assert.equal(log.at(-1)?.why, undefined)
})

inBoth('a refusal is logged with the message sent to the client', async (client, { log }) => {
  const bucket = await makeBucket(client)
  for (const what of [
    { method: 'GET', bucket, path: '/none' },
    { method: 'GET', bucket, path: '/k', as: null },
    { method: 'PUT', bucket, path: '/k', body: 'x', headers: [['Content-MD5', 'no digest']] },
  ] satisfies Sending[]) {
    const answer = await client.send(what)
    assert(answer.status >= 400 && answer.status < 500)
    const told = answer.xml().children.find(({ name }) => name === 'Message')?.text
    assert.equal(log.at(-1)?.message, told)
    assert.deepEqual([log.at(-1)?.level, log.at(-1)?.host], ['info', undefined])
  }
  // A HEAD response has no document, but the log has the message.
  await client.send({ method: 'HEAD', bucket, path: '/none' })
  assert.equal(log.at(-1)?.message, 'The specified key does not exist.')
  await client.send({ method: 'GET', bucket, path: '/' })
  assert.equal(log.at(-1)?.message, undefined)
  await exchange(client.port, 'NONSENSE\r\n\r\n')
  assert.equal(log.at(-1)?.message, 'The request is not well-formed HTTP.')
})

inBoth('a request with an invalid Host is logged with that host', async (client, { log }) => {
  await makeBucket(client)
  const refused = async (lines: string): Promise<unknown> => {
    const answer = await exchange(client.port, `GET / HTTP/1.1\r\n${lines}\r\n`)
    assert.equal(answer?.status, 400, lines)
    return log.at(-1)?.host
  }
  assert.equal(await refused('Host: somebody@there\r\n'), 'somebody@there')
  assert.equal(await refused(`Host: B_AD.${BASE_HOST}\r\n`), `B_AD.${BASE_HOST}`)
  assert.equal(await refused('Host: one\r\nHost: two\r\n'), 'one, two')
  assert.equal(await refused(''), undefined)
})

inBoth('a response of status 500 or above is logged as a warning', async (client, { log, parts }) => {
  const bucket = await makeBucket(client)
  const meta = parts.store.context.meta as { get: Meta['get'] }
  const look = meta.get.bind(meta)
  meta.get = () => Promise.reject(new Error('the disk is gone'))
  const broken = await client.send({ method: 'GET', bucket, path: '/k' })
  meta.get = look
  const missing = await client.send({ method: 'GET', bucket, path: '/?torrent' })
  for (const answer of [broken, missing]) {
    assert(answer.status >= 500, String(answer.status))
    const id = answer.own('request-id')
    const line = log.find(({ requestId, status }) => requestId === id && status === answer.status)
    assert.deepEqual([line?.level, typeof line?.message], ['warn', 'string'])
  }
})

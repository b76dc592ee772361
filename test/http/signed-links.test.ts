/** Headers in the query of a presigned URL, which its user then need not send. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { SCHEMES } from '../../src/auth/signing.ts'
import { type Pair, signedByQuery } from '../specimens/signing.ts'
import { document, get, outcome, put, text } from './actions.ts'
import { customerKey, KEY } from './parts.ts'
import { BASE_HOST, type Client, inBoth, MAIN, makeBucket } from './server.ts'
import { exchange, type WireAnswer } from './wire.ts'

const BODY = 'abc'
const md5: Pair = ['Content-MD5', createHash('md5').update(BODY).digest('base64')]

/**
 * Uses a presigned URL for `/k` with these parameters, `:name` being one of the dialect, and these additional headers.
 */
async function use(
  client: Client,
  parameters: readonly Pair[],
  headers: readonly Pair[] = [],
  body = BODY,
  spelt = (target: string): string => target,
) {
  const query = parameters.map(([name, value]) => `${client.name(name)}=${encodeURIComponent(value)}`).join('&')
  const signer = {
    scheme: SCHEMES[client.dialect],
    ...MAIN,
    region: 'us-east-1',
    now: client.clock.now(),
  }
  const plain = {
    method: 'PUT',
    target: `/k?${query}`,
    headers: [['Host', `test-bucket.${BASE_HOST}`], ...headers] as Pair[],
  }
  const { request } = signedByQuery(signer, plain, { contentHash: undefined, seconds: 600 })
  const lines = [...request.headers, ['Content-Length', String(body.length)]].map(([n, v]) => `${n}: ${v}\r\n`)
  return exchange(client.port, `PUT ${spelt(request.target)} HTTP/1.1\r\n${lines.join('')}\r\n`, body)
}

const TWICE: readonly Pair[] = [
  [':meta-a', '1'],
  [':Meta-A', '2'],
]

const summary = (answer: WireAnswer | undefined): string => `${answer?.status} ${answer?.code}`.trim()

inBoth('G3: parameters of a presigned upload set the object’s attributes', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':bucket-object-lock-enabled', 'true']])
  const parameters: Pair[] = [
    [':meta-colour', 'blü + green'],
    [':tagging', 'a=b&c=d'],
    [':acl', 'public-read'],
    [':storage-class', 'STANDARD_IA'],
    [':object-lock-legal-hold', 'ON'],
    [':server-side-encryption', 'AES256'],
  ]
  assert.equal(summary(await use(client, parameters, [md5])), '200')
  const { headers } = await get(client, bucket, '/k')
  const said = (name: string) => headers.get(client.name(name))
  assert.equal(Buffer.from(String(said(':meta-colour')), 'latin1').toString(), 'blü + green')
  assert.equal(said(':tagging-count'), '2')
  assert.equal(said(':storage-class'), 'STANDARD_IA')
  assert.equal(said(':object-lock-legal-hold'), 'ON')
  assert.equal(said(':server-side-encryption'), 'AES256')
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k', as: null })).status, 200)
})

inBoth('G3: a presigned copy copies its source and never stores an empty object', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/from', 'the source')
  assert.equal(summary(await use(client, [[':copy-source', `${bucket}/from`]], [], '')), '200')
  assert.equal((await get(client, bucket, '/k')).body.toString(), 'the source')
})

inBoth('G3: parameters of a presigned URL are validated like headers, and contradictions refused', async client => {
  const bucket = await makeBucket(client)
  assert.equal(summary(await use(client, [[':acl', 'everybody']])), '400 InvalidArgument')
  assert.equal(summary(await use(client, [[':expected-bucket-owner', '999999999999']])), '403 AccessDenied')
  assert.equal(summary(await use(client, [[':meta-a', 'x\r\ny: z']])), '400 InvalidArgument')
  const other: Pair = [client.name(':meta-a'), '2']
  assert.equal(summary(await use(client, [[':meta-a', '1']], [other])), '400 InvalidArgument')
  assert.equal(summary(await use(client, TWICE)), '400 InvalidArgument')
  const keyed = customerKey(KEY).map(([name, value]): Pair => [name, value])
  assert.equal(summary(await use(client, keyed)), '400 InvalidArgument')
  assert.equal(outcome(await get(client, bucket, '/k')), '404 NoSuchKey')
  assert.equal(summary(await use(client, [[':meta-a', '2']], [other])), '200')
})

inBoth('G3: a checksum in a presigned URL is ignored, since it predates the body', async client => {
  const bucket = await makeBucket(client)
  const ofNothing: Pair[] = [
    [':checksum-crc32', 'AAAAAA=='],
    [':sdk-checksum-algorithm', 'CRC32'],
    [':content-sha256', 'UNSIGNED-PAYLOAD'],
  ]
  assert.equal(summary(await use(client, ofNothing)), '200')
  assert.equal((await get(client, bucket, '/k')).body.toString(), BODY)
})

inBoth('G3: without a signature in the query its parameters are no headers', async client => {
  const bucket = await makeBucket(client)
  const path = `/k?${client.name(':meta-a')}=1`
  assert.equal((await client.send({ method: 'PUT', bucket, path, body: BODY })).status, 200)
  assert.equal((await get(client, bucket, '/k')).headers.get(client.name(':meta-a')), undefined)
  assert.equal(text((await get(client, bucket, '/')).xml(), 'Name'), bucket)
})

inBoth('G3 A4: parameters of a presigned URL take effect, even with percent-encoded signature names', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/from', 'the source')
  const x = SCHEMES[client.dialect].queryPrefix
  const escaped = (target: string): string =>
    target
      .replace(`${x}Algorithm`, `${x}%41lgorithm`)
      .replace(`${x}Credential`, `%58${x.slice(1)}Credential`)
      .replace(`${x}Signature`, `${x.slice(0, -1)}%2dSignatur%65`)
  const own: Pair = [client.name(':meta-a'), '2']
  for (const headers of [[], [own]]) {
    assert.equal(summary(await use(client, [[':copy-source', `${bucket}/from`]], headers, '', escaped)), '200')
    assert.equal((await get(client, bucket, '/k')).body.toString(), 'the source')
    const stored = await use(client, [[':copy-source', `${bucket}/from`]], headers, 'another', escaped)
    assert.equal(summary(stored), '400 InvalidRequest')
    assert.equal(
      summary(await use(client, [[':object-lock-legal-hold', 'ON']], headers, BODY, escaped)).slice(0, 3),
      '400',
    )
    assert.equal((await get(client, bucket, '/k')).body.toString(), 'the source')
  }
})

inBoth('G3 A58: a parameter that is not a valid header name is refused', async client => {
  const bucket = await makeBucket(client)
  for (const name of ['a%0d%0aset-cookie', 'a%20b', 'a:b', '%c3%bc', 'a%22', '%e2%84%aa']) {
    assert.equal(summary(await use(client, [[`:meta-${name}`, '1']])), '400 InvalidArgument', name)
    assert.equal(outcome(await get(client, bucket, '/k')), '404 NoSuchKey', name)
  }
  // Private-use characters that represent single bytes internally are returned unchanged.
  assert.equal(summary(await use(client, [[':meta-a', ' \uf78d à']])), '200')
  const { headers } = await get(client, bucket, '/k')
  assert.equal(Buffer.from(String(headers.get(client.name(':meta-a'))), 'latin1').toString(), '\uf78d à')
})

inBoth('G8: a policy against unsigned payloads also applies to presigned URLs', async client => {
  const bucket = await makeBucket(client)
  const statement = {
    Effect: 'Deny',
    Principal: '*',
    Action: 'svc:PutObject',
    Resource: `arn:svc:svc:::${bucket}/*`,
    Condition: { StringEquals: { 'svc:x-svc-content-sha256': 'UNSIGNED-PAYLOAD' } },
  }
  const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] })
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', ...document(policy) })).status, 204)
  assert.equal(summary(await use(client, [])), '403 AccessDenied')
  const taken = `${SCHEMES[client.dialect].queryPrefix}Content-Sha256`
  const known = createHash('sha256').update(BODY).digest('hex')
  // Only the signature's own parameter sets the signed hash.
  assert.equal(summary(await use(client, [[':content-sha256', known]])), '403 AccessDenied')
  assert.equal(
    summary(await use(client, [], [[client.name(':content-sha256'), 'UNSIGNED-PAYLOAD']])),
    '403 AccessDenied',
  )
  assert.equal(summary(await use(client, [[taken, 'UNSIGNED-PAYLOAD']])), '403 AccessDenied')
  assert.equal(outcome(await get(client, bucket, '/k')), '404 NoSuchKey')
  await put(client, bucket, '/k', BODY)
})

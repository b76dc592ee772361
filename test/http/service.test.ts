/** Behaviour of every request, whatever its operation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { text } from './actions.ts'
import { expectFault } from './parts.ts'
import {
  BASE_HOST,
  type Client,
  inBoth,
  MAIN,
  makeBucket,
  OTHER,
  type Received,
  type Sending,
  withServer,
} from './server.ts'

const put = (client: Client, bucket: string, path: string, body = 'hello') =>
  client.send({ method: 'PUT', bucket, path, body })

function expectIds(answer: Received): void {
  assert.match(answer.own('request-id') ?? '', /^[0-9A-F]{16}$/)
  assert.notEqual(answer.own('id-2') ?? '', '')
  assert.match(answer.headers.get('date') ?? '', /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/)
}

inBoth('R1 R5: every kind of response has request ids, a date and a content type', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  const etag = '"5d41402abc4b2a76b9719d911017c592"'
  const answers = {
    document: await client.send({ method: 'GET', bucket, path: '/' }),
    bytes: await client.send({ method: 'GET', bucket, path: '/k' }),
    unchanged: await client.send({ method: 'GET', bucket, path: '/k', headers: [['If-None-Match', etag]] }),
    head: await client.send({ method: 'HEAD', bucket, path: '/none' }),
    refused: await client.send({
      method: 'GET',
      bucket,
      path: '/k',
      as: null,
      headers: [[':request-payer', 'requester']],
    }),
    nothing: await client.send({ method: 'DELETE', bucket, path: '/k' }),
    notOffered: await client.send({ method: 'GET', bucket, path: '/?torrent' }),
  }
  const statuses = Object.values(answers).map(({ status }) => status)
  assert.deepEqual(statuses, [200, 200, 304, 404, 403, 204, 501])
  for (const answer of Object.values(answers)) expectIds(answer)
  const ids = Object.values(answers).map(answer => answer.own('request-id'))
  assert.equal(new Set(ids).size, ids.length)
  for (const answer of [answers.document, answers.refused, answers.notOffered]) {
    assert.equal(answer.headers.get('content-type'), 'application/xml')
    assert(answer.body.toString().startsWith('<?xml version="1.0" encoding="UTF-8"?>\n'))
  }
  assert.equal(answers.bytes.body.toString(), 'hello')
})

inBoth('R117: an error document has code, resource and request id, without a namespace', async client => {
  const bucket = await makeBucket(client)
  const answer = await client.send({ method: 'GET', bucket, path: '/a%20%3Cb%3E' })
  expectFault(answer, 404, 'NoSuchKey')
  const { name, children } = answer.xml()
  assert.equal(name, 'Error')
  assert.doesNotMatch(answer.body.toString(), /xmlns/)
  const names = children.map(child => child.name)
  assert.deepEqual(names.slice(0, 2), ['Code', 'Message'])
  assert.deepEqual(names.slice(-3), ['Resource', 'RequestId', 'HostId'])
  const texts = new Map(children.map(child => [child.name, child.text]))
  assert.equal(texts.get('Message'), 'The specified key does not exist.')
  assert.equal(texts.get('Key'), 'a <b>')
  assert.equal(texts.get('Resource'), `/${bucket}/a <b>`)
  assert.equal(texts.get('RequestId'), answer.own('request-id'))
  assert.equal(texts.get('HostId'), answer.own('id-2'))
  const head = await client.send({ method: 'HEAD', bucket, path: '/none' })
  assert.equal(head.status, 404)
  assert.equal(head.body.length, 0)
})

inBoth('R2: extension headers in any case; permissions by either dialect’s name', async client => {
  const bucket = await makeBucket(client)
  const shouted = client.name(':META-Case').toUpperCase()
  const stored = await client.send({ method: 'PUT', bucket, path: '/k', body: 'x', headers: [[shouted, '17']] })
  assert.equal(stored.status, 200)
  const head = await client.send({ method: 'HEAD', bucket, path: '/k' })
  assert.equal(head.own('meta-case'), '17')
  for (const action of ['svc:GetObject', 's3:GetObject']) {
    const Statement = [
      { Effect: 'Allow', Principal: { SVC: OTHER.accountId }, Action: action, Resource: `arn:svc:svc:::${bucket}/*` },
    ]
    const body = JSON.stringify({ Version: '2012-10-17', Statement })
    assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body })).status, 204)
    assert.equal((await client.send({ method: 'GET', bucket, path: '/k', as: OTHER })).status, 200)
    assert.equal((await client.send({ method: 'DELETE', bucket, path: '/?policy' })).status, 204)
    assert.equal((await client.send({ method: 'GET', bucket, path: '/k', as: OTHER })).status, 403)
  }
})

inBoth('R3 R4 D20: host-style and path-style address the same object', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/a//b/../c')
  const byPath = await client.send({ method: 'GET', path: `/${bucket}/a//b/../c` })
  assert.equal(byPath.body.toString(), 'hello')
  assert.equal((await client.send({ method: 'GET', path: `/${bucket}/a/c` })).status, 404)
  const shouted = await client.send({
    method: 'GET',
    host: `${bucket.toUpperCase()}.${BASE_HOST}:81`,
    path: '/a//b/../c',
  })
  assert.equal(shouted.body.toString(), 'hello')
  const listing = await client.send({ method: 'GET', path: '/' })
  assert.equal(listing.xml().name, 'ListAllMyBucketsResult')
})

inBoth('R6 A40: a key has 1,024 bytes at most, of UTF-8', async client => {
  const bucket = await makeBucket(client)
  for (const longest of ['k'.repeat(1024), '%C3%A9'.repeat(512)]) {
    assert.equal((await put(client, bucket, `/${longest}`)).status, 200)
    assert.equal((await client.send({ method: 'GET', bucket, path: `/${longest}` })).body.toString(), 'hello')
    expectFault(await put(client, bucket, `/${longest}k`), 400, 'KeyTooLongError')
  }
})

inBoth('R10 R11: no event notifications, no API version; unknown parameters are ignored', async client => {
  const bucket = await makeBucket(client)
  expectFault(await client.send({ method: 'GET', bucket, path: '/?notification' }), 501, 'NotImplemented')
  await put(client, bucket, '/2006-03-01/k')
  const answer = await client.send({ method: 'GET', bucket, path: '/2006-03-01/k?whatever=1&else' })
  assert.equal(answer.body.toString(), 'hello')
})

inBoth('R72 A45: a single PUT ends at 5 GiB, and is refused before it is sent', async client => {
  const bucket = await makeBucket(client)
  const answer = await client.send({ method: 'PUT', bucket, path: '/k', announced: 5 * 2 ** 30 + 1 })
  expectFault(answer, 400, 'EntityTooLarge')
  assert.match(answer.body.toString(), /<ProposedSize>5368709121<.*<MaxSizeAllowed>5368709120</)
})

inBoth('R116: the named errors and their statuses', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  const wrongDigest = [['Content-MD5', 'AAAAAAAAAAAAAAAAAAAAAA==']] as const
  const rows = [
    [{ method: 'GET', bucket: 'not-there', path: '/k' }, 404, 'NoSuchBucket'],
    [{ method: 'GET', bucket, path: '/none' }, 404, 'NoSuchKey'],
    [{ method: 'GET', bucket, path: '/k?versionId=00000000000000000000000000000000' }, 404, 'NoSuchVersion'],
    [{ method: 'DELETE', bucket, path: '/k?uploadId=none' }, 404, 'NoSuchUpload'],
    [{ method: 'GET', bucket, path: '/?object-lock' }, 404, 'ObjectLockConfigurationNotFoundError'],
    [{ method: 'PUT', bucket, path: '/k', body: 'x', headers: wrongDigest }, 400, 'BadDigest'],
    [{ method: 'PUT', bucket, path: '/k', body: 'x', headers: [['If-None-Match', '*']] }, 412, 'PreconditionFailed'],
    [{ method: 'GET', bucket, path: '/k', as: null }, 403, 'AccessDenied'],
    [{ method: 'GET', bucket, path: '/k', as: { ...MAIN, secretKey: 'no' } }, 403, 'SignatureDoesNotMatch'],
    [{ method: 'GET', bucket, path: '/k', as: { ...MAIN, accessKey: 'NOBODY' } }, 403, 'InvalidAccessKeyId'],
  ] as const
  for (const [what, status, code] of rows) expectFault(await client.send(what), status, code)
})

inBoth('D3: unusual conditions on writes are evaluated', async client => {
  const bucket = await makeBucket(client)
  const write = (headers: [string, string][]) => client.send({ method: 'PUT', bucket, path: '/k', body: 'x', headers })
  const etag = (await put(client, bucket, '/k')).headers.get('etag')!
  assert.equal((await write([['If-Match', '*']])).status, 200)
  const second = (await client.send({ method: 'HEAD', bucket, path: '/k' })).headers.get('etag')!
  expectFault(await write([['If-None-Match', second]]), 412, 'PreconditionFailed')
  assert.equal((await write([['If-None-Match', etag]])).status, 200)
  expectFault(
    await write([
      ['If-Match', second],
      ['If-None-Match', '*'],
    ]),
    412,
    'PreconditionFailed',
  )
})

for (const preferred of ['svc', 's3'] as const) {
  const title = `G2: unsigned requests that speak no dialect get ${preferred} where the operator prefers it`
  test(title, () =>
    withServer(
      async ({ svc, s3 }) => {
        const bucket = await makeBucket(svc)
        const ask = (client: Client, headers: Sending['headers'] = []) =>
          client.send({ method: 'GET', bucket, path: '/none', as: null, headers })
        const [own, other] =
          preferred === 'svc' ? ['x-svc-request-id', 'x-amz-request-id'] : ['x-amz-request-id', 'x-svc-request-id']
        for (const client of [svc, s3]) {
          const answer = await ask(client)
          assert.equal(answer.status, 403)
          assert.notEqual(answer.headers.get(own), undefined)
          assert.equal(answer.headers.get(other), undefined)
          // A dialect header overrides the default.
          assert.notEqual((await ask(client, [[':request-payer', 'requester']])).own('request-id'), undefined)
        }
        const form = '--x\r\nContent-Disposition: form-data; name="file"\r\n\r\n1\r\n--x--\r\n'
        const type = ['Content-Type', 'multipart/form-data; boundary=x'] as const
        const posted = await svc.send({ method: 'POST', bucket, path: '/', as: null, body: form, headers: [type] })
        assert.equal(posted.code(), 'InvalidArgument')
        assert.notEqual(posted.headers.get(own), undefined)
      },
      { anonymousDialect: preferred },
    ),
  )
}

inBoth('D11 R9: a malformed Authorization header is refused with S3’s message', async client => {
  const bucket = await makeBucket(client)
  const status = client.dialect === 'svc' ? 403 : 400
  const algorithm = client.dialect === 'svc' ? 'SVC4-HMAC-SHA256' : 'AWS4-HMAC-SHA256'
  for (const [authorization, code, message] of [
    ['', 'InvalidArgument', "Authorization header is invalid -- one and only one ' ' (space) required"],
    ['x', 'InvalidArgument', "Authorization header is invalid -- one and only one ' ' (space) required"],
    [algorithm, 'InvalidArgument', "Authorization header is invalid -- one and only one ' ' (space) required"],
    ['Basic c2VjcmV0', 'InvalidArgument', 'Unsupported Authorization Type'],
    ['Bearer secret', 'InvalidArgument', 'Unsupported Authorization Type'],
    ['AWS AKID:secret', 'InvalidRequest', `Please use ${algorithm}.`],
    [`${algorithm} x`, 'AuthorizationHeaderMalformed', 'it must have Credential'],
  ] as const) {
    const answer = await client.send({
      method: 'GET',
      bucket,
      path: '/k',
      as: null,
      headers: [
        ['Authorization', authorization],
        [':content-sha256', 'UNSIGNED-PAYLOAD'],
      ],
    })
    assert.equal(`${answer.status} ${answer.code()}`, `${status} ${code}`, authorization)
    assert(text(answer.xml(), 'Message')?.includes(message), authorization)
    assert(!answer.body.includes('secret') || authorization.startsWith('AWS'), authorization)
  }
})

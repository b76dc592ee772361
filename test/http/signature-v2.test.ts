/** Presigned URLs of Signature Version 2, as boto3 and the AWS CLI 1 make them by default. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SIGNED_PARAMETERS } from '../../src/auth/signature-v2.ts'
import { OPERATIONS } from '../../src/operations/index.ts'
import { type LinkV2, queryV2 } from '../specimens/signature-v2.ts'
import type { Pair } from '../specimens/signing.ts'
import { get, md5Header, outcome, put, text } from './actions.ts'
import { detail, expectFault } from './parts.ts'
import {
  BASE_HOST,
  type Client,
  MAIN,
  makeBucket,
  OTHER,
  type Sending,
  type Served,
  type Who,
  withServer,
} from './server.ts'

const BUCKET = 'test-bucket'
const OBJECT = `/${BUCKET}/k`

const later = ({ clock }: Client, seconds = 60): number => Math.floor(clock.now() / 1000) + seconds

interface Use extends Partial<Omit<Sending, 'as'>> {
  readonly link?: Partial<LinkV2>
  readonly by?: Who
  /** Query parameters beside those of the signature, as in the URL. */
  readonly query?: string
}

/** Uses a presigned URL for the object `k`; the request differs from what was signed only where both are given. */
function use(client: Client, { link = {}, by = MAIN, query = '', ...sending }: Use = {}) {
  const method = sending.method ?? link.method ?? 'GET'
  const signed = { method, resource: OBJECT, expires: later(client), ...link }
  const path = `${sending.path ?? '/k'}?${query === '' ? '' : `${query}&`}${queryV2(by, signed)}`
  const headers = sending.headers ?? signed.headers ?? []
  const host = sending.host === undefined ? { bucket: BUCKET } : {}
  return client.send({ ...host, ...sending, method, path, headers, as: null })
}

const served = (run: (served: Served) => Promise<void>, options: Parameters<typeof withServer>[1] = {}) =>
  withServer(async all => {
    await makeBucket(all.s3, BUCKET)
    await put(all.s3, BUCKET, '/k', 'hello', [['Content-Type', 'text/plain']])
    await run(all)
  }, options)

test('s3: D31: presigned URLs of Signature Version 2 read, write and delete, by host and by path', () =>
  served(async ({ s3 }) => {
    assert.equal((await use(s3)).body.toString(), 'hello')
    assert.equal((await use(s3, { host: BASE_HOST, path: OBJECT })).body.toString(), 'hello')
    assert.equal((await use(s3, { host: 'holdfast:9000', path: OBJECT })).body.toString(), 'hello')
    assert.equal(outcome(await use(s3, { link: { method: 'HEAD' } })), '200')
    assert.equal(outcome(await use(s3, { link: { method: 'PUT' }, body: 'again' })), '200')
    assert.equal((await get(s3, BUCKET, '/k')).body.toString(), 'again')
    const spaced = { path: '/a%20b%2Bc', link: { resource: `/${BUCKET}/a%20b%2Bc`, method: 'PUT' } }
    assert.equal(outcome(await use(s3, { ...spaced, body: 'spaced' })), '200')
    assert.equal((await get(s3, BUCKET, '/a%20b%2Bc')).body.toString(), 'spaced')
    assert.equal(outcome(await use(s3, { link: { method: 'DELETE' } })), '204')
    const all = { path: '/', link: { resource: `/${BUCKET}/` } }
    assert.equal(text((await use(s3, { ...all, query: 'list-type=2&prefix=a' })).xml(), 'Key'), 'a b+c')
    const byPath = { host: BASE_HOST, path: `/${BUCKET}`, link: { resource: `/${BUCKET}` } }
    assert.equal((await use(s3, byPath)).xml().name, 'ListBucketResult')
    // boto3 sends `/bucket` and signs `/bucket/`.
    const asBoto = { ...byPath, query: 'acl', link: { resource: `/${BUCKET}/?acl` } }
    assert.equal((await use(s3, asBoto)).xml().name, 'AccessControlPolicy')
  }))

test('s3: D31: a host that is a bucket’s name stands in what is signed', () =>
  served(async ({ s3 }) => {
    const bucket = await makeBucket(s3, 'files.example.com')
    await put(s3, bucket, '/k', 'of the name')
    const link = { resource: `/${bucket}/k` }
    assert.equal((await use(s3, { host: 'Files.Example.com', link })).body.toString(), 'of the name')
    expectFault(await use(s3, { host: 'files.example.com', link: { resource: '/k' } }), 403, 'SignatureDoesNotMatch')
  }))

test('s3: D31: sub-resources and response overrides are part of what is signed', () =>
  served(async ({ s3 }) => {
    const name = 'attachment; filename="a b+c.txt"'
    const query = `response-content-disposition=${encodeURIComponent(name)}&response-expires=x`
    const resource = `${OBJECT}?response-content-disposition=${name}&response-expires=x`
    const answer = await use(s3, { query, link: { resource } })
    assert.deepEqual([answer.status, answer.headers.get('content-disposition')], [200, name])
    assert.equal((await use(s3, { query: 'tagging', link: { resource: `${OBJECT}?tagging` } })).xml().name, 'Tagging')
    const uploads = { path: '/', query: 'uploads', link: { resource: `/${BUCKET}/?uploads` } }
    assert.equal((await use(s3, uploads)).xml().name, 'ListMultipartUploadsResult')
    // Parameters appended to a presigned URL change nothing, except those that S3 leaves unsigned.
    const added = [
      'acl',
      'tagging',
      'retention',
      'legal-hold',
      'attributes',
      'versionId=null',
      'partNumber=1',
      'torrent',
    ]
    for (const more of [...added, 'response-content-type=text/html', 'uploads', '%61cl', 'x-amz-acl=public-read']) {
      const { status } = await use(s3, { query: more })
      // `uploads` takes no key, which is refused first.
      assert([403, 501, 405].includes(status) || (more === 'uploads' && status === 400), `${more}: ${status}`)
    }
    for (const more of ['acl', 'policy', 'versioning', 'encryption', 'object-lock', 'cors', 'publicAccessBlock']) {
      const to = { path: '/', query: more, body: '<x/>', link: { method: 'PUT', resource: `/${BUCKET}/` } }
      expectFault(await use(s3, to), 403, 'SignatureDoesNotMatch')
    }
    assert.equal(outcome(await use(s3, { query: 'x-id=GetObject' })), '200')
  }))

/** `list-type` only selects the form of a listing. */
const NOT_SIGNED = new Set(['list-type'])

test('D31: every parameter that chooses among operations is signed', () => {
  const chosen = OPERATIONS.flatMap(({ match }) => match.requires ?? []).filter(need => need.startsWith('?'))
  const names = chosen.map(need => need.slice(1).split('=')[0]!)
  assert.deepEqual(
    names.filter(name => !SIGNED_PARAMETERS.has(name) && !NOT_SIGNED.has(name)),
    [],
  )
  assert(names.length > 20)
})

test('s3: D31: headers of the dialect, Content-Type and Content-MD5 are signed, as headers or in the query', () =>
  served(async ({ s3 }) => {
    const headers: Pair[] = [
      ['x-amz-meta-b', 'two  spaces'],
      ['X-Amz-Meta-A', '1'],
      ['Content-Type', 'text/html'],
      md5Header('body') as Pair,
    ]
    const link = { method: 'PUT', headers }
    assert.equal(outcome(await use(s3, { link, body: 'body' })), '200')
    const stored = await get(s3, BUCKET, '/k')
    assert.deepEqual([stored.own('meta-b'), stored.headers.get('content-type')], ['two  spaces', 'text/html'])
    expectFault(await use(s3, { link, body: 'body', headers: headers.slice(1) }), 403, 'SignatureDoesNotMatch')
    const changed: Pair[] = [...headers.slice(0, 2), ['Content-Type', 'text/xml'], headers[3]!]
    expectFault(await use(s3, { link, body: 'body', headers: changed }), 403, 'SignatureDoesNotMatch')
    const more: Pair[] = [...headers, ['x-amz-acl', 'public-read']]
    expectFault(await use(s3, { link, body: 'body', headers: more }), 403, 'SignatureDoesNotMatch')
    expectFault(await use(s3, { link, body: 'other' }), 400, 'BadDigest')
    // boto3 puts signed headers into the query.
    const query = 'x-amz-meta-colour=blue&x-amz-storage-class=STANDARD_IA&content-type=text%2Fcsv'
    const said: Pair[] = [
      ['x-amz-meta-colour', 'blue'],
      ['x-amz-storage-class', 'STANDARD_IA'],
      ['content-type', 'text/csv'],
    ]
    const boto = { link: { method: 'PUT', headers: said }, query, body: 'csv' }
    assert.equal(outcome(await use(s3, { ...boto, headers: [] })), '200')
    const { headers: got } = await get(s3, BUCKET, '/k')
    assert.deepEqual(
      ['x-amz-meta-colour', 'x-amz-storage-class', 'content-type'].map(name => got.get(name)),
      ['blue', 'STANDARD_IA', 'text/csv'],
    )
    assert.equal(outcome(await use(s3, { ...boto, headers: said })), '200')
    const contradicted: Pair[] = [['x-amz-meta-colour', 'red']]
    expectFault(await use(s3, { ...boto, headers: contradicted }), 400, 'InvalidArgument')
  }))

test('s3: D31: an invalid presigned URL is refused with its reason, without effect', () =>
  served(async ({ s3, clock }) => {
    const wrong = await use(s3, { by: { ...MAIN, secretKey: 'guess' } })
    expectFault(wrong, 403, 'SignatureDoesNotMatch')
    assert.equal(detail(wrong, 'AWSAccessKeyId'), MAIN.accessKey)
    assert.equal(detail(wrong, 'StringToSign'), `GET\n\n\n${later(s3)}\n${OBJECT}`)
    expectFault(await use(s3, { by: { ...MAIN, accessKey: 'AKNOBODY' } }), 403, 'InvalidAccessKeyId')
    expectFault(await use(s3, { by: OTHER }), 403, 'AccessDenied')
    expectFault(await use(s3, { link: { method: 'GET' }, method: 'DELETE' }), 403, 'SignatureDoesNotMatch')
    for (const expires of ['', 'soon', '-1', '1.5', '9'.repeat(30)]) {
      const answer = await use(s3, { link: { expires } })
      expectFault(answer, 403, 'AccessDenied')
      assert.match(detail(answer, 'Message'), /Invalid date \(should be seconds since epoch\)/)
    }
    const path = `/k?${queryV2(MAIN, { method: 'GET', resource: OBJECT, expires: later(s3) })}`
    for (const gone of ['Signature', 'Expires']) {
      const rest = path.replace(new RegExp(`[&?]${gone}=[^&]*`), '')
      const answer = await s3.send({ method: 'GET', bucket: BUCKET, path: rest, as: null })
      expectFault(answer, 403, 'AccessDenied')
      assert.match(detail(answer, 'Message'), /requires the Signature, Expires and AWSAccessKeyId parameters/)
    }
    const token = { query: 'x-amz-security-token=t', link: { headers: [['x-amz-security-token', 't']] as Pair[] } }
    expectFault(await use(s3, { ...token, headers: [] }), 400, 'InvalidToken')
    const twice = await s3.send({ method: 'GET', bucket: BUCKET, path, headers: [] })
    expectFault(twice, 400, 'InvalidArgument')
    assert.equal((await s3.send({ method: 'GET', bucket: BUCKET, path, as: null })).status, 200)
    clock.move(60_000)
    const late = await s3.send({ method: 'GET', bucket: BUCKET, path, as: null })
    expectFault(late, 403, 'AccessDenied')
    assert.equal(detail(late, 'Message'), 'Request has expired')
  }))

test('s3: D31: a customer key that was sent is not shown in what was signed', () =>
  served(async ({ s3 }) => {
    const headers: Pair[] = [['x-amz-server-side-encryption-customer-key', 'c2VjcmV0']]
    const answer = await use(s3, { by: { ...MAIN, secretKey: 'guess' }, link: { headers } })
    expectFault(answer, 403, 'SignatureDoesNotMatch')
    assert.doesNotMatch(answer.body.toString(), /c2VjcmV0/)
    assert.match(detail(answer, 'StringToSign'), /customer-key:\*\*\*\n/)
  }))

test('s3: D31: chunked bodies are refused, and a hash of the body is verified', () =>
  served(async ({ s3 }) => {
    const chunks = '5\r\nhello\r\n0\r\n\r\n'
    for (const headers of [
      [
        ['x-amz-content-sha256', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'],
        ['x-amz-decoded-content-length', '5'],
      ],
      [
        ['x-amz-content-sha256', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'],
        ['x-amz-decoded-content-length', '5'],
      ],
      [
        ['Content-Encoding', 'aws-chunked'],
        ['x-amz-decoded-content-length', '5'],
      ],
      [['x-amz-trailer', 'x-amz-checksum-crc32']],
    ] as Pair[][]) {
      const answer = await use(s3, { link: { method: 'PUT', headers }, body: chunks })
      expectFault(answer, 400, 'InvalidRequest')
    }
    const hash: Pair[] = [['x-amz-content-sha256', '0'.repeat(64)]]
    expectFault(await use(s3, { link: { method: 'PUT', headers: hash }, body: 'x' }), 400, 'XAmzContentSHA256Mismatch')
    assert.equal((await get(s3, BUCKET, '/k')).body.toString(), 'hello')
  }))

test('s3: D31: policies see the signature version and an unsigned payload', () =>
  served(async ({ s3 }) => {
    const deny = async (Condition: unknown) => {
      const Statement = [
        { Effect: 'Deny', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${BUCKET}/*`, Condition },
      ]
      const body = JSON.stringify({ Version: '2012-10-17', Statement })
      assert.equal(outcome(await s3.send({ method: 'PUT', bucket: BUCKET, path: '/?policy', body })), '204')
    }
    await deny({ StringEquals: { 's3:signatureversion': 'AWS' } })
    assert.deepEqual([(await use(s3)).status, (await get(s3, BUCKET, '/k')).status], [403, 200])
    await deny({ StringEquals: { 's3:signatureversion': 'AWS4-HMAC-SHA256' } })
    assert.deepEqual([(await use(s3)).status, (await get(s3, BUCKET, '/k')).status], [200, 403])
    await deny({ StringEquals: { 's3:authType': 'REST-QUERY-STRING' } })
    assert.equal((await use(s3)).status, 403)
    await deny({ StringEquals: { 's3:x-amz-content-sha256': 'UNSIGNED-PAYLOAD' } })
    assert.equal((await use(s3)).status, 403)
  }))

const HEADER = [['Authorization', `AWS ${MAIN.accessKey}:abc=`]] as const

test('s3: D31: in a header Signature Version 2 stays refused, by naming the scheme to use', () =>
  served(async ({ s3 }) => {
    const answer = await s3.send({ method: 'GET', bucket: BUCKET, path: '/k', headers: HEADER, as: null })
    expectFault(answer, 400, 'InvalidRequest')
    assert.match(detail(answer, 'Message'), /Please use AWS4-HMAC-SHA256\./)
    assert(answer.own('request-id') !== undefined, 'the answer speaks the dialect')
  }))

test('s3: D31: with --no-sigv2 presigned URLs of Signature Version 2 are refused', () =>
  served(
    async ({ s3 }) => {
      const answer = await use(s3)
      expectFault(answer, 400, 'InvalidRequest')
      assert.match(detail(answer, 'Message'), /Please use AWS4-HMAC-SHA256\./)
    },
    { sigV2: false },
  ))

test('svc: D31: Signature Version 2 is refused in any form, by naming the native scheme', () =>
  served(async ({ svc }) => {
    const headers = [['x-svc-request-payer', 'requester']] as const
    const inQuery = await use(svc, { headers })
    const inHeader = await svc.send({
      method: 'GET',
      bucket: BUCKET,
      path: '/k',
      headers: [...HEADER, ...headers],
      as: null,
    })
    for (const answer of [inQuery, inHeader]) {
      expectFault(answer, 403, 'InvalidRequest')
      assert.match(detail(answer, 'Message'), /Please use SVC4-HMAC-SHA256\./)
    }
  }))

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  begin,
  customerKey,
  detail,
  expectFault,
  expectFolded,
  finish,
  KEY,
  MIB5,
  OTHER_KEY,
  part,
  textAt,
} from './parts.ts'
import { type Client, inBoth, makeBucket, OTHER, READER, type Sending } from './server.ts'

type Headers = NonNullable<Sending['headers']>

const copy = (
  client: Client,
  bucket: string,
  path: string,
  source: string,
  headers: Headers = [],
  as?: Sending['as'],
) =>
  client.send({
    method: 'PUT',
    bucket,
    path,
    headers: [[':copy-source', source], ...headers],
    ...(as === undefined ? {} : { as }),
  })

async function withSource(client: Client, headers: Headers = [], body: Buffer | string = 'hello world') {
  const bucket = await makeBucket(client)
  const put = await client.send({ method: 'PUT', bucket, path: '/from', body, headers })
  assert.equal(put.status, 200, put.body.toString())
  return { bucket, etag: put.headers.get('etag') ?? '' }
}

inBoth('R42 R45 R53 R59 CopyObject: copies data and metadata, but neither ACL nor redirect', async client => {
  const { bucket, etag } = await withSource(client, [
    ['Content-Type', 'text/plain'],
    ['Cache-Control', 'no-store'],
    [':meta-colour', 'blue'],
    [':tagging', 'a=b'],
    [':acl', 'public-read'],
    [':website-redirect-location', '/x'],
    [':storage-class', 'STANDARD_IA'],
    [':checksum-crc32', 'DUoRhQ=='],
  ])
  const copied = await copy(client, bucket, '/to', `/${bucket}/from`, [[':meta-ignored', 'x']])
  assert.equal(copied.status, 200, copied.body.toString())
  assert.equal(copied.headers.get('etag'), etag)
  assert.equal(copied.xml().name, 'CopyObjectResult')
  assert.equal(textAt(copied.xml(), 'ETag'), etag)
  assert.match(textAt(copied.xml(), 'LastModified'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.equal(textAt(copied.xml(), 'ChecksumCRC32'), 'DUoRhQ==')
  assert.equal(textAt(copied.xml(), 'ChecksumType'), 'FULL_OBJECT')
  const got = await client.send({ method: 'GET', bucket, path: '/to' })
  assert.equal(got.body.toString(), 'hello world')
  assert.equal(got.headers.get('content-type'), 'text/plain')
  assert.equal(got.headers.get('cache-control'), 'no-store')
  assert.equal(got.own('meta-colour'), 'blue')
  assert.equal(got.own('tagging-count'), '1')
  for (const name of ['meta-ignored', 'website-redirect-location', 'storage-class']) {
    assert.equal(got.own(name), undefined)
  }
  assert.equal((await client.send({ method: 'GET', bucket, path: '/from', as: OTHER })).status, 200)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/to', as: OTHER })).status, 403)
})

inBoth('R46 R47 CopyObject: metadata and tagging directives', async client => {
  const { bucket } = await withSource(client, [
    ['Content-Type', 'text/plain'],
    [':meta-colour', 'blue'],
    [':tagging', 'a=b'],
  ])
  const replaced = await copy(client, bucket, '/to', `${bucket}/from`, [
    [':metadata-directive', 'REPLACE'],
    [':meta-size', 'large'],
    [':tagging-directive', 'REPLACE'],
  ])
  assert.equal(replaced.status, 200)
  const got = await client.send({ method: 'HEAD', bucket, path: '/to' })
  assert.equal(got.own('meta-size'), 'large')
  assert.equal(got.own('meta-colour'), undefined)
  assert.equal(got.headers.get('content-type'), 'binary/octet-stream')
  assert.equal(got.own('tagging-count'), undefined)
  const kept = await copy(client, bucket, '/kept', `${bucket}/from`, [[':tagging', 'x=1&y=2']])
  assert.equal(kept.status, 200)
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/kept' })).own('tagging-count'), '1')
  for (const name of [':metadata-directive', ':tagging-directive']) {
    expectFolded(client, await copy(client, bucket, '/to', `${bucket}/from`, [[name, 'x']]), 'InvalidArgument')
  }
})

inBoth('D27 CopyObject: a plus sign in the source is a plus sign in svc and a space in s3', async client => {
  const bucket = await makeBucket(client)
  for (const key of ['a+b', 'a b']) {
    await client.send({ method: 'PUT', bucket, path: `/${encodeURIComponent(key)}`, body: `bytes of ${key}` })
  }
  const meant = client.dialect === 'svc' ? 'a+b' : 'a b'
  for (const [source, key] of [
    ['a+b', meant],
    ['a%2Bb', 'a+b'],
    ['a%20b', 'a b'],
    ['a b', 'a b'],
  ]) {
    const copied = await copy(client, bucket, '/to', `${bucket}/${source}`)
    assert.equal(copied.status, 200, copied.body.toString())
    const got = await client.send({ method: 'GET', bucket, path: '/to' })
    assert.equal(got.body.toString(), `bytes of ${key}`, source)
  }
})

inBoth('R43 R44 CopyObject: an invalid or missing source is refused', async client => {
  const { bucket } = await withSource(client)
  for (const source of [
    'x',
    '/',
    '',
    'bucket/',
    '//k',
    `${bucket}/%zz`,
    `${bucket}/%00`,
    `${bucket}/from?versionId=`,
  ]) {
    expectFolded(client, await copy(client, bucket, '/to', source), 'InvalidArgument')
  }
  expectFault(await copy(client, bucket, '/to', 'no-such-bucket/k'), 404, 'NoSuchBucket')
  for (const name of ['..', 'ab', 'A_b', 'a..b', 'B', 'a'.repeat(64), 'a%00b', '127.0.0.1']) {
    const refused = await copy(client, bucket, '/to', `${name}/k`)
    expectFolded(client, refused, 'InvalidArgument')
    assert.equal(detail(refused, 'Message'), 'Invalid copy source bucket name', name)
  }
  expectFault(await copy(client, bucket, '/to', `${bucket}/none`), 404, 'NoSuchKey')
  expectFault(await copy(client, bucket, '/to', `${bucket}/from?versionId=${'0'.repeat(32)}`), 404, 'NoSuchVersion')
  const filled = {
    method: 'PUT',
    bucket,
    path: '/to',
    body: 'x',
    headers: [[':copy-source', `${bucket}/from`]] as const,
  }
  expectFault(await client.send(filled), 400, 'InvalidRequest')
  assert.equal((await client.send({ method: 'GET', bucket, path: '/to' })).status, 404)
  await client.send({ method: 'PUT', bucket, path: '/a%20%2B%3F%C3%BC', body: 'odd' })
  assert.equal((await copy(client, bucket, '/to', `${bucket}/a%20%2B%3F%C3%BC`)).status, 200)
})

inBoth('R44 R59 CopyObject: copies a version by id and refuses delete markers', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':bucket-object-lock-enabled', 'true']])
  const put = await client.send({ method: 'PUT', bucket, path: '/from', body: 'one' })
  await client.send({ method: 'PUT', bucket, path: '/from', body: 'two' })
  const old = put.own('version-id')
  const copied = await copy(client, bucket, '/to', `${bucket}/from?versionId=${old}`)
  assert.equal(copied.own('copy-source-version-id'), old)
  assert.notEqual(copied.own('version-id'), undefined)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/to' })).body.toString(), 'one')
  const marker = (await client.send({ method: 'DELETE', bucket, path: '/from' })).own('version-id')
  expectFault(await copy(client, bucket, '/to', `${bucket}/from`), 404, 'NoSuchKey')
  expectFault(await copy(client, bucket, '/to', `${bucket}/from?versionId=${marker}`), 400, 'InvalidRequest')
})

inBoth('R48 CopyObject: a copy onto itself requires a change', async client => {
  const { bucket } = await withSource(client)
  const itself = (...headers: [string, string][]) => copy(client, bucket, '/from', `${bucket}/from`, headers)
  expectFault(await itself(), 400, 'InvalidRequest')
  expectFault(await itself([':acl', 'public-read']), 400, 'InvalidRequest')
  for (const header of [
    [':metadata-directive', 'REPLACE'],
    [':storage-class', 'STANDARD'],
    [':website-redirect-location', '/x'],
    [':server-side-encryption', 'AES256'],
    [':checksum-algorithm', 'SHA256'],
  ] as [string, string][]) {
    assert.equal((await itself(header)).status, 200, header[0])
  }
  assert.equal((await client.send({ method: 'GET', bucket, path: '/from' })).body.toString(), 'hello world')
})

inBoth('R49 R50 D2 CopyObject: preconditions on source and destination', async client => {
  const { bucket, etag } = await withSource(client)
  const now = client.clock.now()
  const date = (ms: number): string => new Date(now + ms).toUTCString()
  const at = (...headers: [string, string][]) => copy(client, bucket, '/to', `${bucket}/from`, headers)
  for (const headers of [
    [[':copy-source-if-match', '"no"']],
    [[':copy-source-if-none-match', etag]],
    [[':copy-source-if-modified-since', date(60_000)]],
    [[':copy-source-if-unmodified-since', date(-60_000)]],
    [
      [':copy-source-if-none-match', etag],
      [':copy-source-if-modified-since', date(-60_000)],
    ],
  ] as [string, string][][]) {
    expectFault(await at(...headers), 412, 'PreconditionFailed')
  }
  const missing = await at(['If-Match', '*'])
  if (client.dialect === 'svc') expectFault(missing, 412, 'PreconditionFailed')
  else expectFault(missing, 404, 'NoSuchKey')
  const holds: [string, string][] = [
    [':copy-source-if-match', etag.slice(1, -1)],
    [':copy-source-if-unmodified-since', date(-60_000)],
  ]
  assert.equal((await at(...holds, ['If-None-Match', '*'])).status, 200)
  expectFault(await at(['If-None-Match', '*']), 412, 'PreconditionFailed')
})

inBoth('R51 R52 CopyObject: checksums are kept, or computed on request', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket, '/from', [[':checksum-algorithm', 'CRC32']])
  const sums = ['JRTCyQ==', 'QoZTGg==']
  const parts = []
  for (const [index, letter] of ['A', 'B'].entries()) {
    const listed = await part(client, place, index + 1, Buffer.alloc(MIB5, letter))
    parts.push({ ...listed, more: `<ChecksumCRC32>${sums[index]}</ChecksumCRC32>` })
  }
  const done = await finish(client, place, parts)
  assert.equal(done.status, 200, done.body.toString())
  const kept = await copy(client, bucket, '/to', `${bucket}/from`)
  assert.equal(textAt(kept.xml(), 'ChecksumCRC32'), textAt(done.xml(), 'ChecksumCRC32'))
  assert.equal(textAt(kept.xml(), 'ChecksumType'), 'COMPOSITE')
  assert.equal(textAt(kept.xml(), 'ETag'), textAt(done.xml(), 'ETag'))
  const combined = await copy(client, bucket, '/to', `${bucket}/from`, [[':checksum-algorithm', 'CRC32']])
  assert.equal(textAt(combined.xml(), 'ChecksumType'), 'FULL_OBJECT')
  const read = await copy(client, bucket, '/to', `${bucket}/from`, [[':checksum-algorithm', 'SHA256']])
  assert.match(textAt(read.xml(), 'ChecksumSHA256'), /^[^-]{44}$/)
  expectFault(
    await copy(client, bucket, '/to', `${bucket}/from`, [[':checksum-algorithm', 'MD4']]),
    400,
    'InvalidRequest',
  )
})

inBoth('R54 R55 CopyObject: customer keys for source and destination', async client => {
  const { bucket } = await withSource(client, customerKey(KEY))
  const from = (...headers: Headers) => copy(client, bucket, '/to', `${bucket}/from`, headers)
  expectFault(await from(), 400, 'InvalidRequest')
  expectFault(await from(...customerKey(OTHER_KEY, ':copy-source-')), 403, 'AccessDenied')
  expectFolded(client, await from(...customerKey(KEY, ':copy-source-').slice(1)), 'InvalidArgument')
  const plain = await from(...customerKey(KEY, ':copy-source-'))
  assert.equal(plain.status, 200, plain.body.toString())
  assert.equal((await client.send({ method: 'GET', bucket, path: '/to' })).body.toString(), 'hello world')
  const extra = await copy(client, bucket, '/x', `${bucket}/to`, customerKey(KEY, ':copy-source-'))
  expectFault(extra, 400, 'InvalidRequest')
  const other = await from(...customerKey(KEY, ':copy-source-'), ...customerKey(OTHER_KEY))
  assert.equal(other.own('server-side-encryption-customer-algorithm'), 'AES256')
  const got = await client.send({ method: 'GET', bucket, path: '/to', headers: customerKey(OTHER_KEY) })
  assert.equal(got.body.toString(), 'hello world')
})

inBoth('R7 R60 A28 CopyObject: needs permission on both sides and honours expected owners', async client => {
  const { bucket } = await withSource(client)
  const open = await makeBucket(client, 'open-bucket', [[':acl', 'public-read-write']])
  const theirs = await client.send({ method: 'PUT', bucket: 'their-bucket', path: '/', as: OTHER })
  assert.equal(theirs.status, 200)
  expectFault(await copy(client, 'their-bucket', '/to', `${bucket}/from`, [], OTHER), 403, 'AccessDenied')
  expectFault(await copy(client, bucket, '/to', `${bucket}/from`, [], READER), 403, 'AccessDenied')
  await client.send({ method: 'PUT', bucket: open, path: '/k', body: 'x', headers: [[':acl', 'public-read-write']] })
  expectFault(await copy(client, open, '/to', `${open}/k`, [], null), 403, 'AccessDenied')
  assert.equal((await copy(client, open, '/to', `${open}/k`, [], OTHER)).status, 200)
  const owner = (id: string): [string, string] => [':source-expected-bucket-owner', id]
  expectFault(await copy(client, bucket, '/to', `${bucket}/from`, [owner(OTHER.accountId)]), 403, 'AccessDenied')
  assert.equal((await copy(client, bucket, '/to', `${bucket}/from`, [owner('111111111111')])).status, 200)
})

inBoth('R32 R56 R57 D13 CopyObject: ACL and locks of the copy', async client => {
  const { bucket } = await withSource(client)
  const from = (...headers: [string, string][]) => copy(client, bucket, '/to', `${bucket}/from`, headers)
  const both = await from([':acl', 'private'], [':grant-read', `id="${OTHER.canonicalId}"`])
  expectFault(both, 400, 'InvalidRequest')
  expectFolded(client, await from([':grant-read', 'id="nobody"']), 'InvalidArgument')
  expectFault(await from([':object-lock-legal-hold', 'ON']), 400, 'InvalidRequest')
  const exec = await from([':acl', client.dialect === 'svc' ? 'svc-exec-read' : 'aws-exec-read'])
  if (client.dialect === 'svc') {
    expectFault(exec, 400, 'InvalidRequest')
    assert.equal(detail(exec, 'Reason'), 'InvalidArgument')
  } else assert.equal(exec.status, 200)
  assert.equal((await from([':grant-read', `id="${OTHER.canonicalId}"`])).status, 200)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/to', as: OTHER })).status, 200)
  const locked = await makeBucket(client, 'lock-bucket', [[':bucket-object-lock-enabled', 'true']])
  const held = await copy(client, locked, '/k', `${bucket}/from`, [[':object-lock-legal-hold', 'ON']])
  assert.equal(held.status, 200)
  assert.equal((await client.send({ method: 'HEAD', bucket: locked, path: '/k' })).own('object-lock-legal-hold'), 'ON')
  const again = await copy(client, locked, '/free', `${locked}/k`)
  assert.equal(again.status, 200)
  const free = await client.send({ method: 'HEAD', bucket: locked, path: '/free' })
  assert.equal(free.own('object-lock-legal-hold'), undefined)
})

inBoth('R8 CopyObject: reading a requester-pays source requires accepting the charge', async client => {
  const { bucket } = await withSource(client, [[':acl', 'public-read']])
  const body = '<RequestPaymentConfiguration><Payer>Requester</Payer></RequestPaymentConfiguration>'
  const md5: [string, string] = ['Content-MD5', createHash('md5').update(body).digest('base64')]
  const set = await client.send({ method: 'PUT', bucket, path: '/?requestPayment', body, headers: [md5] })
  assert.equal(set.status, 200, set.body.toString())
  await client.send({ method: 'PUT', bucket: 'their-bucket', path: '/', as: OTHER })
  expectFault(await copy(client, 'their-bucket', '/to', `${bucket}/from`, [], OTHER), 403, 'AccessDenied')
  const payer: [string, string] = [':request-payer', 'requester']
  assert.equal((await copy(client, 'their-bucket', '/to', `${bucket}/from`, [payer], OTHER)).status, 200)
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  begin,
  beginning,
  customerKey,
  detail,
  expectFault,
  expectFolded,
  finish,
  KEY,
  keyNameHeader,
  namedKeys,
  part,
  textAt,
} from './parts.ts'
import { inBoth, makeBucket, OTHER, READER } from './server.ts'

inBoth('R33 R62 R71 CreateMultipartUpload: two uploads of one key are independent', async client => {
  const bucket = await makeBucket(client)
  const begun = await beginning(client, bucket, '/a%20b')
  assert.equal(begun.status, 200)
  assert.equal(begun.xml().name, 'InitiateMultipartUploadResult')
  assert.equal(textAt(begun.xml(), 'Bucket'), bucket)
  assert.equal(textAt(begun.xml(), 'Key'), 'a b')
  const one = await begin(client, bucket)
  const two = await begin(client, bucket)
  assert.notEqual(one.id, two.id)
  assert.match(one.id, /^[A-Za-z0-9_-]+$/)
  for (const [place, body] of [
    [two, 'two'],
    [one, 'one'],
  ] as const) {
    assert.equal((await finish(client, place, [await part(client, place, 1, body)])).status, 200)
  }
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'one')
  const filled = await client.send({ method: 'POST', bucket, path: '/k?uploads', body: 'x' })
  expectFault(filled, 400, 'InvalidRequest')
})

inBoth('R70 CreateMultipartUpload: missing bucket, missing permission and wrong owner are refused', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':acl', 'public-read-write']])
  expectFault(await beginning(client, 'no-such-bucket', '/k'), 404, 'NoSuchBucket')
  expectFault(await beginning(client, bucket, '/k', [], READER), 403, 'AccessDenied')
  expectFault(await beginning(client, bucket, '/k', [], null), 403, 'AccessDenied')
  const expected: [string, string] = [':expected-bucket-owner', OTHER.accountId]
  expectFault(await beginning(client, bucket, '/k', [expected]), 403, 'AccessDenied')
})

inBoth('R22 R23 R24 R66 CreateMultipartUpload: the encryption is echoed', async client => {
  const bucket = await makeBucket(client)
  const context = Buffer.from('{"a":"b"}').toString('base64')
  const headers: [string, string][] = [
    [':server-side-encryption', namedKeys(client)],
    [keyNameHeader(client), 'my key'],
    [':server-side-encryption-context', context],
    [':server-side-encryption-bucket-key-enabled', 'true'],
  ]
  const begun = await beginning(client, bucket, '/k', headers)
  const place = { bucket, path: '/k', id: textAt(begun.xml(), 'UploadId') }
  const done = await finish(client, place, [await part(client, place, 1, 'secret')])
  for (const answer of [begun, done]) {
    assert.equal(answer.status, 200, answer.body.toString())
    for (const [name, value] of headers) assert.equal(answer.own(name.slice(1)), value, name)
  }
  const got = await client.send({ method: 'GET', bucket, path: '/k' })
  assert.equal(got.body.toString(), 'secret')
  assert.equal(got.own('server-side-encryption'), namedKeys(client))
  assert.equal(got.own(keyNameHeader(client).slice(1)), 'my key')
})

inBoth('R22–R25 D18 CreateMultipartUpload: invalid encryption headers are refused', async client => {
  const bucket = await makeBucket(client)
  const named: [string, string] = [':server-side-encryption', namedKeys(client)]
  const context = (value: string): [string, string] => [':server-side-encryption-context', value]
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  for (const [code, ...headers] of [
    ['InvalidArgument', [':server-side-encryption', 'AES128']],
    ['InvalidArgument', [keyNameHeader(client), 'x']],
    ['InvalidArgument', [':server-side-encryption', 'AES256'], [keyNameHeader(client), 'x']],
    ['InvalidArgument', context(base64('{}'))],
    ['InvalidArgument', named, context('{}')],
    ['InvalidArgument', named, context(base64('[]'))],
    ['InvalidArgument', named, context(base64('{"a":1}'))],
    ['InvalidArgument', named, [':server-side-encryption-bucket-key-enabled', 'yes']],
    ['InvalidArgument', [':server-side-encryption', 'AES256'], ...customerKey(KEY)],
    ['InvalidArgument', ...customerKey(KEY).slice(1)],
  ] as [string, ...[string, string][]][]) {
    expectFolded(client, await beginning(client, bucket, '/k', headers), code)
  }
  const long = await beginning(client, bucket, '/k', [named, [keyNameHeader(client), 'x'.repeat(2049)]])
  expectFault(long, 400, 'InvalidRequest')
})

inBoth('R65 R68 R69 D18 CreateMultipartUpload: other invalid headers are refused', async client => {
  const bucket = await makeBucket(client)
  const refused = (...headers: [string, string][]) => beginning(client, bucket, '/k', headers)
  expectFault(await refused([':metadata-directive', 'x']), 400, 'InvalidRequest')
  expectFault(await refused([':checksum-algorithm', 'MD4']), 400, 'InvalidRequest')
  expectFault(await refused([':checksum-type', 'COMPOSITE']), 400, 'InvalidRequest')
  for (const [algorithm, type] of [
    ['CRC64NVME', 'COMPOSITE'],
    ['SHA1', 'FULL_OBJECT'],
    ['SHA256', 'FULL_OBJECT'],
    ['CRC32', 'x'],
  ] as const) {
    expectFault(await refused([':checksum-algorithm', algorithm], [':checksum-type', type]), 400, 'InvalidRequest')
  }
  expectFault(await refused([':object-lock-legal-hold', 'ON']), 400, 'InvalidRequest')
  expectFolded(client, await refused([':website-redirect-location', 'ftp://x']), 'InvalidRedirectLocation')
  expectFolded(client, await refused([':storage-class', 'DEEP']), 'InvalidStorageClass')
  expectFolded(client, await refused([':tagging', 'a=1&a=2']), 'InvalidArgument')
  expectFolded(client, await refused([':tagging', 'aws:x=1']), 'InvalidTag')
  expectFolded(client, await refused([':acl', 'none']), 'InvalidArgument')
  const large = await refused([':meta-x', 'y'.repeat(2048)])
  expectFault(large, 400, 'MetadataTooLarge')
  assert.equal(detail(large, 'MaxSizeAllowed'), '2048')
  const declared = await refused([':checksum-algorithm', 'CRC32'])
  assert.equal(declared.own('checksum-algorithm'), 'CRC32')
  assert.equal(declared.own('checksum-type'), 'COMPOSITE')
  assert.equal((await refused([':metadata-directive', 'COPY'], [':meta-a', 'kept'])).status, 200)
})

inBoth('R27 R57 R90 CreateMultipartUpload: locks are set here and take effect on completion', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':bucket-object-lock-enabled', 'true']])
  const until = new Date(client.clock.now() + 86_400_000).toISOString()
  const place = await begin(client, bucket, '/k', [
    [':object-lock-mode', 'GOVERNANCE'],
    [':object-lock-retain-until-date', until],
    [':object-lock-legal-hold', 'ON'],
  ])
  const done = await finish(client, place, [await part(client, place, 1, 'x')])
  assert.equal(done.status, 200)
  const versionId = done.own('version-id')
  const head = await client.send({ method: 'HEAD', bucket, path: '/k' })
  assert.equal(head.own('object-lock-mode'), 'GOVERNANCE')
  assert.equal(head.own('object-lock-retain-until-date'), until)
  assert.equal(head.own('object-lock-legal-hold'), 'ON')
  expectFault(await client.send({ method: 'DELETE', bucket, path: `/k?versionId=${versionId}` }), 403, 'AccessDenied')
})

inBoth('R67 R89 CreateMultipartUpload: lifecycle headers for uploads and objects', async client => {
  const bucket = await makeBucket(client)
  const rule = (id: string, inner: string): string =>
    `<Rule><ID>${id}</ID><Filter><Prefix>a/</Prefix></Filter><Status>Enabled</Status>${inner}</Rule>`
  const body = `<LifecycleConfiguration>${rule(
    'stale',
    '<AbortIncompleteMultipartUpload><DaysAfterInitiation>2</DaysAfterInitiation></AbortIncompleteMultipartUpload>',
  )}${rule('old one', '<Expiration><Days>1</Days></Expiration>')}</LifecycleConfiguration>`
  const md5: [string, string] = ['Content-MD5', createHash('md5').update(body).digest('base64')]
  const set = await client.send({ method: 'PUT', bucket, path: '/?lifecycle', body, headers: [md5] })
  assert.equal(set.status, 200, set.body.toString())
  const begun = await beginning(client, bucket, '/a/k')
  assert.equal(begun.own('abort-date'), 'Sat, 03 Jan 2026 00:00:00 GMT')
  assert.equal(begun.own('abort-rule-id'), 'stale')
  assert.equal((await beginning(client, bucket, '/b')).own('abort-date'), undefined)
  const place = { bucket, path: '/a/k', id: textAt(begun.xml(), 'UploadId') }
  const listed = await client.send({ method: 'GET', bucket, path: `/a/k?uploadId=${place.id}` })
  assert.equal(listed.own('abort-rule-id'), 'stale')
  const done = await finish(client, place, [await part(client, place, 1, 'x')])
  assert.equal(done.own('expiration'), 'expiry-date="Fri, 02 Jan 2026 00:00:00 GMT", rule-id="old%20one"')
})

inBoth('R20 CreateMultipartUpload CompleteMultipartUpload: checksum types in any case', async client => {
  const bucket = await makeBucket(client)
  for (const type of ['Composite', 'composite', 'FULL_object']) {
    const begun = await beginning(client, bucket, '/k', [
      [':checksum-algorithm', 'crc32'],
      [':checksum-type', type],
    ])
    assert.equal(begun.status, 200, begun.body.toString())
    assert.equal(begun.own('checksum-type'), type.toUpperCase())
    const place = { bucket, path: '/k', id: textAt(begun.xml(), 'UploadId') }
    const sum: [string, string] = [':checksum-crc32', 'DUoRhQ==']
    const listed = await part(client, place, 1, 'hello world', [sum])
    const more = '<ChecksumCRC32>DUoRhQ==</ChecksumCRC32>'
    const done = await finish(client, place, [{ ...listed, more }], [[':checksum-type', type.toLowerCase()]])
    assert.equal(done.status, 200, done.body.toString())
    assert.equal(textAt(done.xml(), 'ChecksumType'), type.toUpperCase())
  }
  const odd = await beginning(client, bucket, '/k', [
    [':checksum-algorithm', 'CRC32'],
    [':checksum-type', 'COMPOSITES'],
  ])
  expectFault(odd, 400, 'InvalidRequest')
})

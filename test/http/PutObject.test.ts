import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { crc32 } from '../../src/lib/crc.ts'
import { customerKey, detail, expectFault, KEY, keyNameHeader, namedKeys, OTHER_KEY } from './parts.ts'
import { type Client, inBoth, makeBucket, OTHER, READER, type Sending } from './server.ts'

type Headers = NonNullable<Sending['headers']>

const put = (client: Client, bucket: string, path: string, headers: Headers = [], body = 'hello world') =>
  client.send({ method: 'PUT', bucket, path, body, headers })

inBoth('R14: metadata keep a trailing byte that Latin-1 reads as white space', async client => {
  const bucket = await makeBucket(client)
  for (const word of ['voilà', 'НАБОР']) {
    const sent = Buffer.from(word).toString('latin1')
    assert.equal((await put(client, bucket, '/k', [[':meta-a', sent]])).status, 200)
    assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).own('meta-a'), sent)
  }
})

inBoth('R13–R15 R19 R21 R28 PutObject: headers, metadata, checksums and tags are stored', async client => {
  const bucket = await makeBucket(client)
  const answer = await put(client, bucket, '/k', [
    ['Content-Language', 'de'],
    ['Content-Encoding', 'gzip'],
    ['Expires', 'whenever'],
    [':meta-Colour', 'blue,red'],
    [':tagging', 'a=1&b='],
    [':website-redirect-location', 'https://example.com/'],
    [':storage-class', 'REDUCED_REDUNDANCY'],
    [':checksum-sha1', 'Kq5sNclPz7QV2+lfQIuc6R7oRu0='],
  ])
  assert.equal(answer.status, 200, answer.body.toString())
  assert.equal(answer.own('checksum-sha1'), 'Kq5sNclPz7QV2+lfQIuc6R7oRu0=')
  assert.equal(answer.own('version-id'), undefined)
  assert.equal(answer.headers.get('content-length'), '0')
  const head = await client.send({ method: 'HEAD', bucket, path: '/k' })
  for (const [name, value] of [
    ['content-type', 'binary/octet-stream'],
    ['content-language', 'de'],
    ['content-encoding', 'gzip'],
    ['expires', 'whenever'],
  ] as const) {
    assert.equal(head.headers.get(name), value)
  }
  for (const [name, value] of [
    ['meta-colour', 'blue,red'],
    ['tagging-count', '2'],
    ['website-redirect-location', 'https://example.com/'],
    ['storage-class', 'REDUCED_REDUNDANCY'],
  ] as const) {
    assert.equal(head.own(name), value)
  }
})

inBoth('R15 PutObject: an empty Content-Type counts as absent', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', [['Content-Type', '']])
  const head = await client.send({ method: 'HEAD', bucket, path: '/k' })
  assert.equal(head.headers.get('content-type'), 'binary/octet-stream')
})

inBoth('R19 D12 PutObject: a requested checksum is computed', async client => {
  const bucket = await makeBucket(client)
  const asking = (algorithm: string): Headers => [[':checksum-algorithm', algorithm]]
  const made = await put(client, bucket, '/k', asking('SHA1'))
  assert.equal(made.own('checksum-sha1'), 'Kq5sNclPz7QV2+lfQIuc6R7oRu0=')
  assert.equal(made.own('checksum-type'), 'FULL_OBJECT')
  expectFault(await put(client, bucket, '/k', asking('MD4')), 400, 'InvalidRequest')
  const other: Headers = [...asking('SHA1'), [':checksum-crc32', 'DUoRhQ==']]
  expectFault(await put(client, bucket, '/k', other), 400, 'InvalidRequest')
})

inBoth('R14 R21 R27 R28 R104 PutObject: an invalid request is refused and stores nothing', async client => {
  const bucket = await makeBucket(client)
  const bad = createHash('md5').update('other').digest('base64')
  for (const [code, ...headers] of [
    ['MetadataTooLarge', [':meta-x', 'y'.repeat(2048)]],
    ['InvalidArgument', [':tagging', 'a=1&a=2']],
    ['BadRequest', [':tagging', [...Array(11).keys()].map(i => `k${i}=v`).join('&')]],
    ['InvalidTag', [':tagging', `${'k'.repeat(129)}=v`]],
    ['InvalidRedirectLocation', [':website-redirect-location', 'example.com']],
    ['InvalidStorageClass', [':storage-class', 'GLACIER']],
    ['InvalidArgument', [':object-lock-mode', 'GOVERNANCE']],
    ['InvalidArgument', [':object-lock-legal-hold', 'maybe']],
    ['InvalidRequest', [':object-lock-legal-hold', 'ON']],
    ['InvalidArgument', [':server-side-encryption', 'rot13']],
    ['InvalidArgument', [':acl', 'everybody']],
    ['InvalidDigest', ['Content-MD5', 'x']],
    ['BadDigest', ['Content-MD5', bad]],
    ['BadDigest', [':checksum-crc32', 'AAAAAA==']],
    ['InvalidRequest', [':checksum-crc32', 'AAAA']],
    ['InvalidRequest', [':checksum-crc32', 'DUoRhQ=='], [':checksum-crc32c', 'yZRlqg==']],
    ['InvalidRequest', [':sdk-checksum-algorithm', 'CRC32']],
  ] as [string, ...[string, string][]][]) {
    expectFault(await put(client, bucket, '/k', headers), 400, code)
  }
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 404)
})

inBoth('R13 PutObject: Content-Encoding comes back as it was sent, without the framing of the body', async client => {
  const bucket = await makeBucket(client)
  for (const [sent, kept] of [
    ['gzip, deflate', 'gzip, deflate'],
    ['gzip ,br', 'gzip ,br'],
    ['gzip,,br', 'gzip,,br'],
    ['aws-chunked', undefined],
    ['SVC-chunked', undefined],
    ['aws-chunked, gzip', 'gzip'],
    ['gzip, aws-chunked, br', 'gzip, br'],
    ['', undefined],
  ] as const) {
    assert.equal((await put(client, bucket, '/k', [['Content-Encoding', sent]])).status, 200)
    const got = await client.send({ method: 'HEAD', bucket, path: '/k' })
    assert.equal(got.headers.get('content-encoding'), kept, sent)
  }
})

inBoth('PutObject: an unsupported storage class is refused by name', async client => {
  const bucket = await makeBucket(client)
  for (const name of ['GLACIER', 'DEEP_ARCHIVE', 'EXPRESS_ONEZONE']) {
    const refused = await put(client, bucket, '/k', [[':storage-class', name]])
    expectFault(refused, 400, 'InvalidStorageClass')
    assert.equal(detail(refused, 'StorageClassRequested'), name)
    assert.equal(detail(refused, 'Message'), `The storage class ${name} is not offered: no tier is mapped to it.`)
  }
})

inBoth('PutObject: an empty Expect header counts as absent', async client => {
  const bucket = await makeBucket(client)
  const what = { method: 'PUT', bucket, path: '/k', body: 'x' }
  assert.equal((await client.send({ ...what, headers: [['Expect', '']] })).status, 200)
  expectFault(await client.send({ ...what, headers: [['Expect', ' x']] }), 417, 'ExpectationFailed')
})

inBoth('R27 R57 PutObject: locks require a body checksum', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':bucket-object-lock-enabled', 'true']])
  const md5: [string, string] = ['Content-MD5', createHash('md5').update('hello world').digest('base64')]
  const locked = (mode: string, until: string): [string, string][] => [
    [':object-lock-mode', mode],
    [':object-lock-retain-until-date', until],
  ]
  const soon = new Date(client.clock.now() + 60_000).toISOString()
  expectFault(await put(client, bucket, '/k', locked('COMPLIANCE', soon)), 400, 'InvalidRequest')
  expectFault(await put(client, bucket, '/k', [md5, ...locked('NONE', soon)]), 400, 'InvalidArgument')
  expectFault(await put(client, bucket, '/k', [md5, ...locked('COMPLIANCE', 'soon')]), 400, 'InvalidArgument')
  const past = new Date(client.clock.now() - 1).toISOString()
  expectFault(await put(client, bucket, '/k', [md5, ...locked('COMPLIANCE', past)]), 400, 'InvalidArgument')
  const stored = await put(client, bucket, '/k', [md5, ...locked('COMPLIANCE', soon)])
  assert.equal(stored.status, 200)
  const path = `/k?versionId=${stored.own('version-id')}`
  expectFault(await client.send({ method: 'DELETE', bucket, path }), 403, 'AccessDenied')
  client.clock.move(60_001)
  assert.equal((await client.send({ method: 'DELETE', bucket, path })).status, 204)
})

inBoth('R22–R26 PutObject: encryption is echoed, and customer keys are required to read', async client => {
  const bucket = await makeBucket(client)
  const plain = createHash('md5').update('hello world').digest('hex')
  const aes = await put(client, bucket, '/aes', [[':server-side-encryption', 'AES256']])
  assert.equal(aes.own('server-side-encryption'), 'AES256')
  assert.equal(aes.headers.get('etag'), `"${plain}"`)
  const named = await put(client, bucket, '/named', [[':server-side-encryption', namedKeys(client)]])
  assert.equal(named.own('server-side-encryption'), namedKeys(client))
  assert.notEqual(named.own(keyNameHeader(client).slice(1)), undefined)
  assert.notEqual(named.headers.get('etag'), `"${plain}"`)
  const own = await put(client, bucket, '/own', customerKey(KEY))
  assert.equal(own.own('server-side-encryption-customer-key-md5'), 'tP/LI3N87DFaSk0aoqYgzg==')
  assert.notEqual(own.headers.get('etag'), `"${plain}"`)
  for (const path of ['/aes', '/named']) {
    assert.equal((await client.send({ method: 'GET', bucket, path })).body.toString(), 'hello world')
  }
  const get = (headers: Headers) => client.send({ method: 'GET', bucket, path: '/own', headers })
  assert.equal((await get(customerKey(KEY))).body.toString(), 'hello world')
  assert.equal((await get([])).status, 400)
  assert.equal((await get(customerKey(OTHER_KEY))).status, 403)
})

inBoth('R55 R68 PutObject: the bucket’s default encryption applies, and refused keys fail', async client => {
  const bucket = await makeBucket(client)
  const configure = (rule: string) => {
    const body = `<ServerSideEncryptionConfiguration><Rule>${rule}</Rule></ServerSideEncryptionConfiguration>`
    const md5: [string, string] = ['Content-MD5', createHash('md5').update(body).digest('base64')]
    return client.send({ method: 'PUT', bucket, path: '/?encryption', body, headers: [md5] })
  }
  const byDefault = (inner: string): string =>
    `<ApplyServerSideEncryptionByDefault>${inner}</ApplyServerSideEncryptionByDefault>`
  const named = byDefault(`<SSEAlgorithm>${namedKeys(client)}</SSEAlgorithm><KMSMasterKeyID>house</KMSMasterKeyID>`)
  assert.equal((await configure(named)).status, 200)
  const stored = await put(client, bucket, '/k')
  assert.equal(stored.own('server-side-encryption'), namedKeys(client))
  assert.equal(stored.own(keyNameHeader(client).slice(1)), 'house')
  const asked = await put(client, bucket, '/k', [[':server-side-encryption', 'AES256']])
  assert.equal(asked.own('server-side-encryption'), 'AES256')
  const blocked = '<BlockedEncryptionTypes><EncryptionType>SSE-C</EncryptionType></BlockedEncryptionTypes>'
  assert.equal((await configure(named + blocked)).status, 200)
  expectFault(await put(client, bucket, '/own', customerKey(KEY)), 403, 'AccessDenied')
})

inBoth('R32 R56 PutObject: canned ACLs and grant headers', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':acl', 'public-read-write']])
  const readable = async (path: string, as: Sending['as']): Promise<boolean> =>
    (await client.send({ method: 'GET', bucket, path, as: as ?? null })).status === 200
  assert.equal((await put(client, bucket, '/public', [[':acl', 'public-read']])).status, 200)
  assert(await readable('/public', null))
  const granted = await put(client, bucket, '/granted', [[':grant-full-control', 'emailAddress="other@example.com"']])
  assert.equal(granted.status, 200, granted.body.toString())
  assert(await readable('/granted', OTHER))
  assert(!(await readable('/granted', null)))
  const unknown = await put(client, bucket, '/k', [[':grant-read', 'emailAddress="nobody@example.com"']])
  expectFault(unknown, 400, 'UnresolvableGrantByEmailAddress')
  const group = await put(client, bucket, '/k', [[':grant-read', 'uri="http://x/"']])
  expectFault(group, 400, 'InvalidArgument')
  assert.equal(detail(group, 'ArgumentName'), 'uri')
  const exec = client.dialect === 'svc' ? 'svc-exec-read' : 'aws-exec-read'
  assert.equal((await put(client, bucket, '/exec', [[':acl', exec]])).status, 200)
  const foreign = client.dialect === 'svc' ? 'aws-exec-read' : 'svc-exec-read'
  expectFault(await put(client, bucket, '/exec', [[':acl', foreign]]), 400, 'InvalidArgument')
  // The writer owns the new object, and so may set its ACL.
  const theirs = await client.send({
    method: 'PUT',
    bucket,
    path: '/theirs',
    body: 'x',
    headers: [[':acl', 'bucket-owner-full-control']],
    as: OTHER,
  })
  assert.equal(theirs.status, 200, theirs.body.toString())
  const tagged = await client.send({
    method: 'PUT',
    bucket,
    path: '/theirs',
    body: 'x',
    headers: [[':tagging', 'a=b']],
    as: OTHER,
  })
  expectFault(tagged, 403, 'AccessDenied')
})

inBoth('R50 R92 R93 D2 PutObject: preconditions', async client => {
  const bucket = await makeBucket(client)
  const missing = await put(client, bucket, '/k', [['If-Match', '"x"']])
  if (client.dialect === 'svc') expectFault(missing, 412, 'PreconditionFailed')
  else expectFault(missing, 404, 'NoSuchKey')
  assert.equal((await put(client, bucket, '/k', [['If-None-Match', '*']])).status, 200)
  expectFault(await put(client, bucket, '/k', [['If-None-Match', '*']]), 412, 'PreconditionFailed')
  expectFault(await put(client, bucket, '/k', [['If-Match', '"x"']]), 412, 'PreconditionFailed')
})

inBoth('R25 PutObject: a customer key reaches neither log nor response', async (client, { log }) => {
  const bucket = await makeBucket(client)
  const wrong = customerKey(KEY).map(([name, value]): [string, string] => [name, name.endsWith('MD5') ? 'x' : value])
  for (const headers of [customerKey(KEY), wrong, customerKey(KEY).slice(1)]) {
    const answer = await put(client, bucket, '/k', headers)
    assert(!answer.body.toString().includes(KEY.toString('base64')))
  }
  assert(!JSON.stringify(log).includes(KEY.toString('base64')))
})

inBoth('R60 PutObject: write permission does not imply tagging, locks, holds or ACLs', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':bucket-object-lock-enabled', 'true']])
  const until = new Date(client.clock.now() + 60_000).toISOString()
  const allow = (...actions: string[]) => {
    const Principal = { SVC: `arn:svc:iam::${READER.accountId}:user/reader` }
    const Resource = `arn:svc:svc:::${bucket}/*`
    const Action = actions.map(action => `svc:${action}`)
    const body = JSON.stringify({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Principal, Action, Resource }],
    })
    return client.send({ method: 'PUT', bucket, path: '/?policy', body })
  }
  const md5: [string, string] = ['Content-MD5', createHash('md5').update('x').digest('base64')]
  const write = (path: string, ...headers: [string, string][]) =>
    client.send({ method: 'PUT', bucket, path, body: 'x', headers: [md5, ...headers], as: READER })
  const retained: [string, string][] = [
    [':object-lock-mode', 'GOVERNANCE'],
    [':object-lock-retain-until-date', until],
  ]
  assert((await allow('PutObject')).status < 300)
  // An existing key and a missing one: a caller who may list the bucket learns the same about both.
  assert.equal((await write('/k')).status, 200)
  for (const path of ['/k', '/new']) {
    for (const headers of [
      [[':tagging', 'a=b']],
      retained,
      [[':object-lock-legal-hold', 'ON']],
      [[':acl', 'public-read']],
      [[':grant-read', `id="${OTHER.canonicalId}"`]],
    ] as [string, string][][]) {
      expectFault(await write(path, ...headers), 403, 'AccessDenied')
    }
  }
  assert((await allow('PutObject', 'PutObjectTagging', 'PutObjectLegalHold', 'PutObjectRetention')).status < 300)
  const all = await write('/new', [':tagging', 'a=b'], [':object-lock-legal-hold', 'ON'], ...retained)
  assert.equal(all.status, 200, all.body.toString())
})

inBoth('R112 PutObject DeleteObjects: a checksum of another algorithm than announced is refused', async client => {
  const bucket = await makeBucket(client)
  const code = client.dialect === 'svc' ? 'InvalidRequest' : 'BadDigest'
  const announced: Headers = [[':sdk-checksum-algorithm', 'CRC32C']]
  expectFault(await put(client, bucket, '/k', [...announced, [':checksum-crc32', 'DUoRhQ==']]), 400, code)
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 404)
  assert.equal((await put(client, bucket, '/k', [...announced, [':checksum-crc32c', 'yZRlqg==']])).status, 200)
  const body = '<Delete><Object><Key>k</Key></Object></Delete>'
  const sum = crc32(Buffer.from(body))
  const value = Buffer.from([sum >>> 24, sum >>> 16, sum >>> 8, sum]).toString('base64')
  const headers: Headers = [...announced, [':checksum-crc32', value]]
  expectFault(await client.send({ method: 'POST', bucket, path: '/?delete', body, headers }), 400, code)
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 200)
})

inBoth('R21 PutObject: empty pairs among the tags are ignored', async client => {
  const bucket = await makeBucket(client)
  assert.equal((await put(client, bucket, '/k', [[':tagging', '&a=1&&b=&']])).status, 200)
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).own('tagging-count'), '2')
  assert.equal((await put(client, bucket, '/k', [[':tagging', '&']])).status, 200)
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).own('tagging-count'), undefined)
})

inBoth('R104 PutObject: a wrong Content-MD5 is reported in hex, the computed one in base64', async client => {
  const bucket = await makeBucket(client)
  const refused = await put(client, bucket, '/k', [['Content-MD5', '1B2M2Y8AsgTpgAmY7PhCfg==']])
  expectFault(refused, 400, 'BadDigest')
  assert.equal(detail(refused, 'ExpectedDigest'), 'd41d8cd98f00b204e9800998ecf8427e')
  assert.equal(detail(refused, 'CalculatedDigest'), 'XrY7u+Ae7tCTyyK7j1rNww==')
})

inBoth('R72 PutObject: the rest of an upload does not replace the object', async client => {
  const bucket = await makeBucket(client)
  const send = (body: string, range: string) =>
    client.send({ method: 'PUT', bucket, path: '/k', body, headers: [['Content-Range', range]] })
  assert.equal((await send('0123456789', 'bytes 0-9/10')).status, 200)
  for (const range of ['bytes 4-9/10', 'bytes 0-5/10', 'bytes 0-5/*', 'bytes */6', '4-9/10']) {
    expectFault(await send('456789', range), 501, 'NotImplemented')
  }
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), '0123456789')
})

import assert from 'node:assert/strict'
import { get, type Headers, lockBucket, md5Header, outcome, put, text } from './actions.ts'
import { type Client, inBoth, makeBucket, OTHER, READER, type Received, type Who } from './server.ts'

const holdBody = (status: string): string => `<LegalHold><Status>${status}</Status></LegalHold>`

interface Hold {
  readonly path?: string
  readonly body?: string
  readonly headers?: Headers
  readonly as?: Who | null
}

/** Sets a hold as the dialect requires; `given` overrides parts of the request. */
function setHold(client: Client, bucket: string, status: string, given: Hold = {}): Promise<Received> {
  const { path = '/k?legal-hold', body = holdBody(status), as } = given
  const own: Headers = client.dialect === 'svc' ? [[':legal-hold', status]] : []
  const headers = given.headers ?? [md5Header(body), ...own]
  return client.send({ method: 'PUT', bucket, path, body, headers, ...(as === undefined ? {} : { as }) })
}

const shownHold = async (client: Client, bucket: string, path = '/k'): Promise<string | undefined> =>
  (await client.send({ method: 'HEAD', bucket, path })).own('object-lock-legal-hold')

inBoth('R38 R114 PutObjectLegalHold: toggles, and is returned by GET, HEAD and ?legal-hold', async client => {
  const bucket = await lockBucket(client)
  await put(client, bucket, '/k')
  const before = await get(client, bucket, '/k')
  assert.equal(before.own('object-lock-legal-hold'), undefined)
  assert.equal(outcome(await get(client, bucket, '/k?legal-hold')), '404 NoSuchObjectLockConfiguration')
  for (const status of ['ON', 'ON', 'OFF', 'OFF', 'ON']) {
    const set = await setHold(client, bucket, status)
    assert.equal(set.status, 200)
    assert.equal(set.body.length, 0)
    const shown = (await get(client, bucket, '/k?legal-hold')).xml()
    assert.equal(shown.name, 'LegalHold')
    assert.equal(text(shown, 'Status'), status)
    assert.equal(await shownHold(client, bucket), status)
  }
  const after = await get(client, bucket, '/k')
  for (const name of ['etag', 'last-modified']) assert.equal(after.headers.get(name), before.headers.get(name))
  assert.equal(after.own('version-id'), before.own('version-id'))
})

inBoth('R39 PutObjectLegalHold: applies to one version only', async client => {
  const bucket = await lockBucket(client)
  const first = await put(client, bucket, '/k', 'one')
  const second = await put(client, bucket, '/k', 'two')
  assert.equal((await setHold(client, bucket, 'ON', { path: `/k?legal-hold&versionId=${first}` })).status, 200)
  assert.equal(await shownHold(client, bucket), undefined)
  assert.equal((await client.send({ method: 'DELETE', bucket, path: `/k?versionId=${second}` })).status, 204)
  assert.equal((await client.send({ method: 'DELETE', bucket, path: `/k?versionId=${first}` })).status, 403)
})

inBoth('D7 R113 PutObjectLegalHold: missing object lock is reported before a missing key', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  const wanted = client.dialect === 'svc' ? '404 ObjectLockConfigurationNotFoundError' : '400 InvalidRequest'
  for (const key of ['k', 'none']) {
    assert.equal(outcome(await setHold(client, bucket, 'ON', { path: `/${key}?legal-hold` })), wanted)
    assert.equal(outcome(await get(client, bucket, `/${key}?legal-hold`)), wanted)
  }
  assert.equal(outcome(await setHold(client, 'no-such-bucket', 'ON')), '404 NoSuchBucket')
})

inBoth('R113 PutObjectLegalHold: missing keys and versions are 404', async client => {
  const bucket = await lockBucket(client)
  assert.equal(outcome(await setHold(client, bucket, 'ON')), '404 NoSuchKey')
  await put(client, bucket, '/k')
  const version = (id: string) => setHold(client, bucket, 'ON', { path: `/k?legal-hold&versionId=${id}` })
  assert.equal(outcome(await version('f'.repeat(32))), '404 NoSuchVersion')
  // D18. One general code in the native dialect.
  assert.equal(outcome(await version('junk')), client.dialect === 'svc' ? '400 InvalidRequest' : '400 InvalidArgument')
  const marker = (await client.send({ method: 'DELETE', bucket, path: '/k' })).own('version-id')
  assert.equal(outcome(await setHold(client, bucket, 'ON')), '405 MethodNotAllowed')
  assert.equal(outcome(await version(marker!)), '405 MethodNotAllowed')
})

inBoth('D8 R109 PutObjectLegalHold: a malformed document is refused without effect', async client => {
  const bucket = await lockBucket(client)
  await put(client, bucket, '/k')
  const wanted = client.dialect === 'svc' ? '400 InvalidRequest' : '400 MalformedXML'
  for (const body of [
    '',
    '<LegalHold>',
    '<LegalHold/>',
    holdBody('on'),
    holdBody(''),
    '<Hold><Status>ON</Status></Hold>',
    '<LegalHold><Status>ON</Status><Status>OFF</Status></LegalHold>',
    `<!DOCTYPE x>${holdBody('ON')}`,
  ]) {
    const answer = await setHold(client, bucket, 'ON', { body })
    assert.equal(outcome(answer), wanted, body)
    assert.equal(text(answer.xml(), 'Reason'), client.dialect === 'svc' ? 'MalformedXML' : undefined)
  }
  assert.equal(await shownHold(client, bucket), undefined)
})

inBoth('D9 R110 PutObjectLegalHold: in svc, header and document must agree', async client => {
  const bucket = await lockBucket(client)
  await put(client, bucket, '/k')
  const proof = md5Header(holdBody('ON'))
  const isNative = client.dialect === 'svc'
  for (const headers of [[proof], [proof, [':legal-hold', 'OFF']], [proof, [':legal-hold', 'on']]] as Headers[]) {
    const answer = await setHold(client, bucket, 'ON', { headers })
    assert.equal(outcome(answer), isNative ? '400 InvalidRequest' : '200')
    if (isNative) assert.equal(await shownHold(client, bucket), undefined)
  }
})

inBoth('R103 R104 R111 R112 PutObjectLegalHold: the body needs a checksum', async client => {
  const bucket = await lockBucket(client)
  await put(client, bucket, '/k')
  const own: Headers = client.dialect === 'svc' ? [[':legal-hold', 'ON']] : []
  for (const [headers, wanted] of [
    [[], '400 InvalidRequest'],
    [[['Content-MD5', 'oK1+ndJbG6HuGA87LDxznw==']], '200'],
    [[['Content-MD5', 'An8G3mv4SfhAibzslQjGDw==']], '400 BadDigest'],
    [[['Content-MD5', 'short']], '400 InvalidDigest'],
    [[[':checksum-crc32', '29C9+g==']], '200'],
    [
      [
        [':checksum-crc64nvme', 'ssrvQykTLlw='],
        [':sdk-checksum-algorithm', 'CRC64NVME'],
      ],
      '200',
    ],
    [
      [
        [':checksum-crc32', '29C9+g=='],
        [':sdk-checksum-algorithm', 'SHA1'],
      ],
      client.dialect === 'svc' ? '400 InvalidRequest' : '400 BadDigest',
    ],
    [[[':checksum-crc32', 'elsCJw==']], '400 BadDigest'],
    [[[':sdk-checksum-algorithm', 'CRC32']], '400 InvalidRequest'],
    [
      [
        ['Content-MD5', 'oK1+ndJbG6HuGA87LDxznw=='],
        [':sdk-checksum-algorithm', 'MD4'],
      ],
      '400 InvalidRequest',
    ],
  ] as const) {
    const answer = await setHold(client, bucket, 'ON', { headers: [...headers, ...own] })
    assert.equal(outcome(answer), wanted, JSON.stringify(headers))
  }
})

inBoth('R108 PutObjectLegalHold: bucket and key in the query must match the path; a key is required', async client => {
  const bucket = await lockBucket(client)
  await put(client, bucket, '/k')
  const at = (query: string) => setHold(client, bucket, 'ON', { path: `/k?${query}` })
  assert.equal((await at(`Bucket=${bucket}&Key=k&legal-hold`)).status, 200)
  for (const query of ['Bucket=other&legal-hold', 'Key=other&legal-hold']) {
    assert.equal(outcome(await at(query)), '400 InvalidRequest')
  }
  const without = await setHold(client, bucket, 'ON', { path: '/?legal-hold' })
  assert.equal(outcome(without), client.dialect === 'svc' ? '400 InvalidRequest' : '405 MethodNotAllowed')
})

inBoth('R115 P17 P30 PutObjectLegalHold: reading and writing need separate permissions', async client => {
  const bucket = await lockBucket(client)
  await put(client, bucket, '/k')
  for (const as of [OTHER, READER, null]) {
    assert.equal(outcome(await setHold(client, bucket, 'ON', { as })), '403 AccessDenied')
  }
  assert.equal(await shownHold(client, bucket), undefined)
  await setHold(client, bucket, 'ON')
  const seen = await client.send({ method: 'GET', bucket, path: '/k', as: READER })
  assert.equal(seen.status, 200)
  assert.equal(seen.own('object-lock-legal-hold'), undefined)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k?legal-hold', as: READER })).status, 403)
  const owner: Headers = [[':expected-bucket-owner', OTHER.accountId]]
  const proof = md5Header(holdBody('OFF'))
  const native: Headers = client.dialect === 'svc' ? [[':legal-hold', 'OFF']] : []
  const other = await setHold(client, bucket, 'OFF', { headers: [proof, ...owner, ...native] })
  assert.equal(outcome(other), '403 AccessDenied')
  assert.equal(await shownHold(client, bucket), 'ON')
})

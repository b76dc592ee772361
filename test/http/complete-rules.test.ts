/** Which requests complete an upload and which do not, in detail. */
import assert from 'node:assert/strict'
import { document, md5Header, put, versionedBucket } from './actions.ts'
import {
  begin,
  customerKey,
  detail,
  expectFault,
  expectFolded,
  finish,
  KEY,
  type Listed,
  listOf,
  MIB5,
  OTHER_KEY,
  part,
  textAt,
} from './parts.ts'
import { BASE_HOST, inBoth, makeBucket, type Sending } from './server.ts'

type Headers = NonNullable<Sending['headers']>

inBoth('R76 R116 CompleteMultipartUpload: an empty part list is refused', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  await part(client, place, 1, 'x')
  for (const body of ['', '<CompleteMultipartUpload/>', '<CompleteMultipartUpload></CompleteMultipartUpload>']) {
    const answer = await finish(client, place, body)
    expectFault(answer, 400, 'InvalidRequest')
    assert.equal(textAt(answer.xml(), 'Message'), 'You must specify at least one part')
  }
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).status, 404)
})

inBoth(
  'R75 R77 CompleteMultipartUpload: the list must be in order, with gaps allowed; upload order is free',
  async client => {
    const bucket = await makeBucket(client)
    const place = await begin(client, bucket)
    const stored = new Map<number, Listed>()
    for (const [number, letter] of [
      [10_000, 'c'],
      [7, 'b'],
      [1, 'a'],
    ] as const) {
      stored.set(number, await part(client, place, number, number === 10_000 ? letter : Buffer.alloc(MIB5, letter)))
    }
    const list = (...numbers: readonly number[]): Listed[] => numbers.map(number => stored.get(number)!)
    for (const wrong of [list(7, 1), list(1, 1), list(1, 7, 7, 10_000), list(1, 10_000, 7), list(10_000, 7, 1)]) {
      const answer = await finish(client, place, wrong)
      expectFault(answer, 400, 'InvalidPartOrder')
      assert.equal(detail(answer, 'UploadId'), place.id)
    }
    for (const number of [0, -1, 10_001, 2 ** 31]) {
      expectFolded(client, await finish(client, place, [{ ...stored.get(1)!, number }]), 'InvalidArgument')
    }
    for (const number of ['1.5', 'one', '']) {
      const body = listOf(list(1)).replace('<PartNumber>1<', `<PartNumber>${number}<`)
      expectFault(await finish(client, place, body), 400, 'MalformedXML')
    }
    assert.equal((await finish(client, place, list(1, 7, 10_000))).status, 200)
    const got = await client.send({ method: 'GET', bucket, path: '/k' })
    assert(got.body.equals(Buffer.concat([Buffer.alloc(MIB5, 'a'), Buffer.alloc(MIB5, 'b'), Buffer.from('c')])))
  },
)

inBoth('R81 CompleteMultipartUpload: a part below 5 MiB is too small unless it is the last', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const small = await part(client, place, 1, Buffer.alloc(MIB5 - 1))
  const exact = await part(client, place, 2, Buffer.alloc(MIB5))
  const answer = await finish(client, place, [small, exact])
  expectFault(answer, 400, 'EntityTooSmall')
  assert.deepEqual(
    ['PartNumber', 'ProposedSize', 'MinSizeAllowed'].map(name => detail(answer, name)),
    ['1', '5242879', '5242880'],
  )
  const last = await part(client, place, 3, '')
  assert.equal((await finish(client, place, [exact, last])).status, 200)
  const head = await client.send({ method: 'HEAD', bucket, path: '/k' })
  assert.equal(head.headers.get('content-length'), String(MIB5))
})

inBoth('R88 CompleteMultipartUpload: Location is in the addressing style of the request', async client => {
  const bucket = await makeBucket(client)
  const key = '/a%20b/%C3%BC%2B'
  const byHost = await begin(client, bucket, key)
  const done = await finish(client, byHost, [await part(client, byHost, 1, 'x')])
  assert.equal(textAt(done.xml(), 'Location'), `http://${bucket}.${BASE_HOST}${key}`)
  const begun = await client.send({ method: 'POST', path: `/${bucket}${key}?uploads` })
  const path = `/${bucket}${key}?uploadId=${textAt(begun.xml(), 'UploadId')}`
  const stored = await client.send({ method: 'PUT', path: `${path}&partNumber=1`, body: 'x' })
  const body = listOf([{ number: 1, etag: stored.headers.get('etag') ?? '' }])
  const second = await client.send({ method: 'POST', path, body })
  assert.equal(textAt(second.xml(), 'Location'), `http://${BASE_HOST}/${bucket}${key}`)
  assert.equal(textAt(second.xml(), 'Key'), 'a b/ü+')
})

inBoth('R17 R18 R90 CompleteMultipartUpload: Last-Modified is the time of completion', async (client, { parts }) => {
  const bucket = await versionedBucket(client, parts)
  const place = await begin(client, bucket, '/k', [[':meta-a', '1']])
  const one = await part(client, place, 1, 'x')
  client.clock.move(3_600_000)
  const done = await finish(client, place, [one])
  const version = done.own('version-id') ?? ''
  assert.notEqual(version, '')
  const head = () => client.send({ method: 'HEAD', bucket, path: '/k' })
  const made = new Date(client.clock.now()).toUTCString()
  assert.equal((await head()).headers.get('last-modified'), made)
  client.clock.move(3_600_000)
  const tags = '<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>'
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/k?tagging', ...document(tags) })).status, 200)
  const acl: Headers = [[':acl', 'public-read']]
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/k?acl', headers: acl })).status, 200)
  const after = await head()
  assert.equal(after.headers.get('last-modified'), made)
  assert.equal(after.own('version-id'), version)
  const listed = (await client.send({ method: 'GET', bucket, path: '/' })).xml()
  assert.equal(textAt(listed, 'Contents', 'LastModified'), new Date(Date.parse(made)).toISOString())
})

inBoth('R17 PutObjectLegalHold PutObjectRetention: locks leave the date alone', async client => {
  const bucket = await makeBucket(client, 'lock-bucket', [[':bucket-object-lock-enabled', 'true']])
  await put(client, bucket, '/k', 'x', [md5Header('x')])
  const head = () => client.send({ method: 'HEAD', bucket, path: '/k' })
  const made = (await head()).headers.get('last-modified')
  client.clock.move(3_600_000)
  const until = new Date(client.clock.now() + 86_400_000).toISOString()
  for (const [query, body, headers] of [
    [
      'legal-hold',
      '<LegalHold><Status>ON</Status></LegalHold>',
      client.dialect === 'svc' ? [[':legal-hold', 'ON']] : [],
    ],
    ['retention', `<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>${until}</RetainUntilDate></Retention>`, []],
  ] as [string, string, Headers][]) {
    const set = await client.send({ method: 'PUT', bucket, path: `/k?${query}`, ...document(body, headers) })
    assert.equal(set.status, 200, set.body.toString())
  }
  assert.equal((await head()).headers.get('last-modified'), made)
})

inBoth('R118 GetObject PutObjectAcl CopyObject: without versioning the only version id is null', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'sole')
  const none = '0'.repeat(32)
  const answers = async (version: string) => {
    const query = `versionId=${version}`
    const acl: Headers = [[':acl', 'private']]
    const from: Headers = [[':copy-source', `${bucket}/k?${query}`]]
    return [
      await client.send({ method: 'GET', bucket, path: `/k?${query}` }),
      await client.send({ method: 'PUT', bucket, path: `/k?acl&${query}`, headers: acl }),
      await client.send({ method: 'PUT', bucket, path: '/copy', headers: from }),
    ]
  }
  for (const answer of await answers('null')) assert.equal(answer.status, 200, answer.body.toString())
  for (const other of [none, 'any-other']) {
    for (const answer of await answers(other)) expectFault(answer, 404, 'NoSuchVersion')
  }
})

inBoth('R86 D22 CompleteMultipartUpload: customer keys, with and without checksums', async client => {
  const bucket = await makeBucket(client)
  const silent = await begin(client, bucket, '/silent', customerKey(KEY))
  const one = await part(client, silent, 1, 'secret', customerKey(KEY))
  expectFault(await finish(client, silent, [one], customerKey(OTHER_KEY)), 400, 'InvalidRequest')
  expectFolded(client, await finish(client, silent, [one], customerKey(KEY).slice(1)), 'InvalidArgument')
  assert.equal((await finish(client, silent, [one])).status, 200)
  const plain = await begin(client, bucket, '/plain')
  const two = await part(client, plain, 1, 'open')
  expectFault(await finish(client, plain, [two], customerKey(KEY)), 400, 'InvalidRequest')
  const [vendor, service] = client.dialect === 'svc' ? ['svc', 'svc'] : ['aws', 's3']
  const key = client.name(':server-side-encryption-customer-algorithm')
  const statement = {
    Effect: 'Deny',
    Principal: '*',
    Action: `${service}:PutObject`,
    Resource: `arn:${vendor}:${service}:::${bucket}/*`,
    Condition: { Null: { [`${service}:${key}`]: 'true' } },
  }
  const body = JSON.stringify({ Version: '2012-10-17', Statement: [statement] })
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body })).status, 204)
  expectFault(await finish(client, plain, [two]), 403, 'AccessDenied')
  const sealed = await begin(client, bucket, '/sealed', customerKey(KEY))
  const three = await part(client, sealed, 1, 'secret', customerKey(KEY))
  expectFault(await finish(client, sealed, [three]), 403, 'AccessDenied')
  assert.equal((await finish(client, sealed, [three], customerKey(KEY))).status, 200)
})

inBoth('D12 R19 CompleteMultipartUpload: no checksum is returned unless one was requested or sent', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const done = await finish(client, place, [await part(client, place, 1, 'x')])
  const headers: Headers = [[':checksum-mode', 'ENABLED']]
  const head = await client.send({ method: 'HEAD', bucket, path: '/k', headers })
  const copied = await client.send({ method: 'PUT', bucket, path: '/to', headers: [[':copy-source', `${bucket}/k`]] })
  for (const answer of [done, copied]) assert(!answer.body.toString().includes('Checksum'), answer.body.toString())
  for (const [name] of head.headers) assert(!name.includes('checksum'), name)
})

inBoth(
  'R96 D15 CompleteMultipartUpload: completing again returns the version that was created',
  async (client, { parts }) => {
    const bucket = await versionedBucket(client, parts)
    const place = await begin(client, bucket)
    const one = await part(client, place, 1, 'first')
    const done = await finish(client, place, [one])
    await put(client, bucket, '/k', 'second')
    const again = await finish(client, place, [one])
    if (client.dialect === 'svc') {
      expectFault(again, 404, 'NoSuchUpload')
      assert.equal(detail(again, 'UploadState'), 'completed')
      assert.equal(detail(again, 'ETag'), textAt(done.xml(), 'ETag'))
    } else {
      assert.equal(again.status, 200)
      assert.equal(again.own('version-id'), done.own('version-id'))
      assert.equal(again.body.toString(), done.body.toString())
    }
    const gone = `/k?versionId=${done.own('version-id')}`
    assert.equal((await client.send({ method: 'DELETE', bucket, path: gone })).status, 204)
    expectFault(await finish(client, place, [one]), 404, 'NoSuchUpload')
  },
)

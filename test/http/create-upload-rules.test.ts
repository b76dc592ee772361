/** Which attributes creation of an upload fixes, and which requests it refuses. */
import assert from 'node:assert/strict'
import { lockBucket, outcome } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import {
  begin,
  beginning,
  customerKey,
  expectFault,
  expectFolded,
  finish,
  KEY,
  part,
  putPart,
  textAt,
} from './parts.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, type Received, type Sending } from './server.ts'

type Headers = NonNullable<Sending['headers']>

async function madeWith(client: Client, bucket: string, headers: Headers, more: Headers = []): Promise<Received> {
  const place = await begin(client, bucket, '/k', headers)
  const done = await finish(client, place, [await part(client, place, 1, 'bytes', more)], more)
  assert.equal(done.status, 200, done.body.toString())
  return client.send({ method: 'HEAD', bucket, path: '/k', headers: more })
}

inBoth('R13 R14 R15 R63 R90 CreateMultipartUpload: attributes given here become the object’s', async client => {
  const bucket = await lockBucket(client)
  const until = new Date(client.clock.now() + 86_400_000).toISOString()
  const plain: [string, string][] = [
    ['Content-Type', 'text/plain'],
    ['Cache-Control', 'no-store'],
    ['Content-Disposition', 'inline'],
    ['Content-Encoding', 'gzip'],
    ['Content-Language', 'de'],
    ['Expires', 'Thu, 01 Jan 2026 00:00:00 GMT'],
  ]
  const own: [string, string][] = [
    [':meta-colour', 'blue'],
    [':website-redirect-location', '/elsewhere'],
    [':storage-class', 'STANDARD_IA'],
    [':object-lock-mode', 'GOVERNANCE'],
    [':object-lock-retain-until-date', until],
    [':object-lock-legal-hold', 'ON'],
  ]
  const rest: Headers = [
    [':tagging', 'a=1&b=2'],
    [':metadata-directive', 'COPY'],
    [':grant-read', `id="${OTHER.canonicalId}"`],
  ]
  const said = await madeWith(client, bucket, [...plain, ...own, ...rest, ...customerKey(KEY)], customerKey(KEY))
  for (const [name, value] of plain) assert.equal(said.headers.get(name.toLowerCase()), value, name)
  for (const [name, value] of own) assert.equal(said.own(name.slice(1)), value, name)
  assert.equal(said.own('tagging-count'), '2')
  assert.equal(said.own('server-side-encryption-customer-algorithm'), 'AES256')
  const shared = await client.send({ method: 'GET', bucket, path: '/k', headers: customerKey(KEY), as: OTHER })
  assert.equal(shared.body.toString(), 'bytes')
  const bare = await madeWith(client, bucket, [])
  assert.equal(bare.headers.get('content-type'), 'binary/octet-stream')
})

const grantees = (acl: Received): string[] =>
  [...acl.body.toString().matchAll(/<(?:ID|URI)>([^<]*)<\/(?:ID|URI)>.*?<Permission>(\w+)/gs)].map(
    ([, name, permission]) => `${name?.split('/').at(-1)} ${permission}`,
  )

inBoth('R64 R32 R56 CreateMultipartUpload: owner and ACL of the future object', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':acl', 'public-read-write']])
  const exec = client.dialect === 'svc' ? 'svc-exec-read' : 'aws-exec-read'
  for (const [canned, count] of [
    ['private', 1],
    ['public-read', 2],
    ['public-read-write', 3],
    ['authenticated-read', 2],
    ['bucket-owner-read', 2],
    ['bucket-owner-full-control', 2],
    [exec, 2],
  ] as const) {
    const begun = await beginning(client, bucket, '/k', [[':acl', canned]], OTHER)
    assert.equal(begun.status, 200, begun.body.toString())
    const path = `/k?uploadId=${textAt(begun.xml(), 'UploadId')}`
    const put = await client.send({ method: 'PUT', bucket, path: `${path}&partNumber=1`, body: 'x', as: OTHER })
    const list = `<Part><PartNumber>1</PartNumber><ETag>${put.headers.get('etag')}</ETag></Part>`
    const body = `<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`
    assert.equal((await client.send({ method: 'POST', bucket, path, body, as: OTHER })).status, 200)
    const acl = await client.send({ method: 'GET', bucket, path: '/k?acl', as: OTHER })
    assert.equal(textAt(acl.xml(), 'Owner', 'ID'), OTHER.canonicalId, canned)
    assert.equal([...acl.body.toString().matchAll(/<Permission>/g)].length, count, `${canned}: ${grantees(acl)}`)
  }
  expectFolded(client, await beginning(client, bucket, '/k', [[':acl', 'log-delivery-write']]), 'InvalidArgument')
  const both: Headers = [
    [':acl', 'private'],
    [':grant-read', `id="${MAIN.canonicalId}"`],
  ]
  expectFault(await beginning(client, bucket, '/k', both), 400, 'InvalidRequest')
})

inBoth('R65 CreateMultipartUpload: a metadata directive is validated and has no effect', async client => {
  const bucket = await makeBucket(client)
  for (const directive of ['COPY', 'REPLACE']) {
    const said = await madeWith(client, bucket, [
      [':metadata-directive', directive],
      [':meta-a', 'kept'],
      ['Content-Type', 'text/plain'],
    ])
    assert.deepEqual([said.own('meta-a'), said.headers.get('content-type')], ['kept', 'text/plain'])
  }
  for (const directive of ['copy', 'MOVE', '']) {
    expectFault(await beginning(client, bucket, '/k', [[':metadata-directive', directive]]), 400, 'InvalidRequest')
  }
})

inBoth('R68 D18 CreateMultipartUpload: requests that the bucket’s state forbids are refused', async client => {
  const bucket = await makeBucket(client)
  const refused = (...headers: Headers) => beginning(client, bucket, '/k', headers)
  const until = new Date(client.clock.now() + 1000).toISOString()
  expectFault(await refused([':object-lock-legal-hold', 'ON']), 400, 'InvalidRequest')
  expectFault(
    await refused([':object-lock-mode', 'GOVERNANCE'], [':object-lock-retain-until-date', until]),
    400,
    'InvalidRequest',
  )
  const blocked = '<BlockedEncryptionTypes><EncryptionType>SSE-C</EncryptionType></BlockedEncryptionTypes>'
  const rule =
    '<ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault>'
  const inside = `<Rule>${rule}${blocked}</Rule>`
  const document = `<ServerSideEncryptionConfiguration>${inside}</ServerSideEncryptionConfiguration>`
  assert.equal((await documentsOf(client, bucket, 'encryption').put(document)).status, 200)
  expectFault(await refused(...customerKey(KEY)), 400, 'InvalidRequest')
  const enforced =
    '<OwnershipControls><Rule><ObjectOwnership>BucketOwnerEnforced</ObjectOwnership></Rule></OwnershipControls>'
  assert.equal((await documentsOf(client, bucket, 'ownershipControls').put(enforced)).status, 200)
  for (const header of [
    [':acl', 'public-read'],
    [':grant-read', `id="${OTHER.canonicalId}"`],
  ] as [string, string][]) {
    expectFolded(client, await refused(header), 'AccessControlListNotSupported')
  }
  assert.equal((await refused([':acl', 'bucket-owner-full-control'])).status, 200)
  const uploads = await client.send({ method: 'GET', bucket, path: '/?uploads' })
  assert.equal(uploads.xml().children.filter(({ name }) => name === 'Upload').length, 1)
})

inBoth(
  'R67 CreateMultipartUpload ListParts: the earliest rule applies; without one there is no header',
  async client => {
    const bucket = await makeBucket(client)
    const rule = (id: string, filter: string, days: number, status = 'Enabled'): string => {
      const inside = `<DaysAfterInitiation>${days}</DaysAfterInitiation>`
      const action = `<AbortIncompleteMultipartUpload>${inside}</AbortIncompleteMultipartUpload>`
      return `<Rule><ID>${id}</ID><Filter>${filter}</Filter><Status>${status}</Status>${action}</Rule>`
    }
    const rules = [
      rule('late', '<Prefix></Prefix>', 9),
      rule('soon one', '<Prefix>a/</Prefix>', 3),
      rule('off', '<Prefix>a/</Prefix>', 1, 'Disabled'),
    ]
    const set = await documentsOf(client, bucket, 'lifecycle').put(
      `<LifecycleConfiguration>${rules.join('')}</LifecycleConfiguration>`,
    )
    assert.equal(set.status, 200, set.body.toString())
    // Not at midnight: the date is rounded up.
    client.clock.move(1)
    for (const [path, date, id] of [
      ['/a/k', 'Mon, 05 Jan 2026 00:00:00 GMT', 'soon one'],
      ['/b', 'Sun, 11 Jan 2026 00:00:00 GMT', 'late'],
    ] as const) {
      const begun = await beginning(client, bucket, path)
      const listed = await client.send({
        method: 'GET',
        bucket,
        path: `${path}?uploadId=${textAt(begun.xml(), 'UploadId')}`,
      })
      for (const answer of [begun, listed]) {
        assert.deepEqual([answer.own('abort-date'), answer.own('abort-rule-id')], [date, id])
      }
    }
    await documentsOf(client, bucket, 'lifecycle').remove()
    assert.equal((await beginning(client, bucket, '/a/k')).own('abort-date'), undefined)
  },
)

inBoth('R29 UploadPart CompleteMultipartUpload: an upload id is valid for its bucket and key only', async client => {
  const bucket = await makeBucket(client)
  const other = await makeBucket(client, 'other-bucket')
  const place = await begin(client, bucket)
  const one = await part(client, place, 1, 'x')
  for (const wrong of [
    { ...place, path: '/K' },
    { ...place, bucket: other },
    { ...place, id: place.id.toUpperCase() },
  ]) {
    expectFault(await putPart(client, wrong, 1, 'x'), 404, 'NoSuchUpload')
    expectFault(await finish(client, wrong, [one]), 404, 'NoSuchUpload')
    const gone = { method: 'DELETE', bucket: wrong.bucket, path: `${wrong.path}?uploadId=${wrong.id}` }
    expectFault(await client.send(gone), 404, 'NoSuchUpload')
  }
  assert.equal((await finish(client, place, [one])).status, 200)
})

inBoth('R99 AbortMultipartUpload: an explicit denial overrides every permission', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const [vendor, service] = client.dialect === 'svc' ? ['svc', 'svc'] : ['aws', 's3']
  const deny = {
    Effect: 'Deny',
    Principal: '*',
    Action: `${service}:AbortMultipartUpload`,
    Resource: `arn:${vendor}:${service}:::${bucket}/*`,
  }
  const body = JSON.stringify({ Version: '2012-10-17', Statement: [deny] })
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body })).status, 204)
  const aborting: Sending = { method: 'DELETE', bucket, path: `/k?uploadId=${place.id}` }
  assert.equal(outcome(await client.send(aborting)), '403 AccessDenied')
  assert.equal((await client.send({ method: 'DELETE', bucket, path: '/?policy' })).status, 204)
  assert.equal(outcome(await client.send(aborting)), '204')
})

inBoth(
  'R8 CreateMultipartUpload UploadPart CompleteMultipartUpload AbortMultipartUpload: requesters pay',
  async client => {
    const bucket = await makeBucket(client, 'test-bucket', [[':acl', 'public-read-write']])
    const payment = '<RequestPaymentConfiguration><Payer>Requester</Payer></RequestPaymentConfiguration>'
    assert.equal((await documentsOf(client, bucket, 'requestPayment').put(payment)).status, 200)
    const pays: Headers = [[':request-payer', 'requester']]
    const send = async (method: string, path: string, body = ''): Promise<Received> => {
      const sending = { method, bucket, path, body, as: OTHER }
      assert.equal(outcome(await client.send(sending)), '403 AccessDenied', `${method} ${path}`)
      const answer = await client.send({ ...sending, headers: pays })
      assert(answer.status < 300, answer.body.toString())
      assert.equal(answer.own('request-charged'), 'requester')
      return answer
    }
    const id = textAt((await send('POST', '/k?uploads')).xml(), 'UploadId')
    const put = await send('PUT', `/k?partNumber=1&uploadId=${id}`, 'x')
    const list = `<Part><PartNumber>1</PartNumber><ETag>${put.headers.get('etag')}</ETag></Part>`
    await send('POST', `/k?uploadId=${id}`, `<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`)
    const second = textAt((await send('POST', '/k?uploads')).xml(), 'UploadId')
    await send('DELETE', `/k?uploadId=${second}`)
  },
)

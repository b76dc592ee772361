/** R30, G10: an ACL can be sent back as it was returned, in either dialect, and stays the same. */
import assert from 'node:assert/strict'
import { EXEC_CANONICAL_ID } from '../../src/model/account.ts'
import { ANONYMOUS_CANONICAL_ID } from '../../src/model/caller.ts'
import { GROUP_URIS } from '../../src/rules/access/names.ts'
import { document, elements, get, type Headers, md5Header, outcome, put, text, texts } from './actions.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, type Served, type Who } from './server.ts'

const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
const CANNED = [
  'private',
  'public-read',
  'public-read-write',
  'authenticated-read',
  'bucket-owner-read',
  'bucket-owner-full-control',
] as const

interface Place {
  readonly bucket: string
  readonly path: string
  readonly as?: Who
}

const shown = async (client: Client, { bucket, path, as = MAIN }: Place): Promise<string> => {
  const answer = await client.send({ method: 'GET', bucket, path, as })
  assert.equal(answer.status, 200, answer.body.toString())
  return answer.body.toString()
}

/** Returned in one dialect, sent back in the same and in the other: nothing changes. */
async function roundTrip({ svc, s3 }: Served, place: Place): Promise<void> {
  const before = [await shown(svc, place), await shown(s3, place)]
  for (const [client, body] of [
    [svc, before[0]!],
    [s3, before[1]!],
    [svc, before[1]!],
    [s3, before[0]!],
  ] as const) {
    const answer = await client.send({ method: 'PUT', ...place, ...document(body) })
    assert.equal(outcome(answer), '200', `${client.dialect} ${body} ${answer.body}`)
    assert.deepEqual([await shown(svc, place), await shown(s3, place)], before)
  }
}

/** Grantee and permission of every grant, in order. */
async function grants(client: Client, place: Place): Promise<string[]> {
  const root = (await get(client, place.bucket, place.path)).xml()
  return elements(elements(root, 'AccessControlList')[0]!, 'Grant').map(
    one => `${text(one, 'URI') ?? text(one, 'ID')} ${text(one, 'Permission')}`,
  )
}

inBoth('R30 R31 R32 R64 G9 GetObjectAcl, PutObjectAcl: every canned object ACL round-trips', async (client, served) => {
  const bucket = await makeBucket(client, 'test-bucket', [[':acl', 'public-read-write']])
  const exec = client.dialect === 'svc' ? 'svc-exec-read' : 'aws-exec-read'
  for (const as of [MAIN, OTHER]) {
    for (const canned of [...CANNED, exec]) {
      const headers: Headers = [[':acl', canned]]
      const made = await client.send({ method: 'PUT', bucket, path: '/k', headers, body: 'x', as })
      assert.equal(made.status, 200, made.body.toString())
      await roundTrip(served, { bucket, path: '/k?acl', as })
    }
  }
  // R64: the ACL given at creation of an upload becomes the object's, owned by the initiator.
  const headers: Headers = [[':acl', exec]]
  const begun = await client.send({ method: 'POST', bucket, path: '/u?uploads', headers, as: OTHER })
  const upload = text(begun.xml(), 'UploadId')
  const part = await client.send({
    method: 'PUT',
    bucket,
    path: `/u?partNumber=1&uploadId=${upload}`,
    body: 'x',
    as: OTHER,
  })
  const only = `<Part><PartNumber>1</PartNumber><ETag>${part.headers.get('etag')}</ETag></Part>`
  const list = `<CompleteMultipartUpload>${only}</CompleteMultipartUpload>`
  const done = await client.send({ method: 'POST', bucket, path: `/u?uploadId=${upload}`, body: list, as: OTHER })
  assert.equal(done.status, 200, done.body.toString())
  const place = { bucket, path: '/u?acl', as: OTHER }
  const root = (await client.send({ method: 'GET', ...place })).xml()
  assert.deepEqual(texts(root, 'ID'), [OTHER.canonicalId, OTHER.canonicalId, EXEC_CANONICAL_ID])
  await roundTrip(served, place)
})

inBoth('R30 G9 GetBucketAcl, PutBucketAcl: every canned bucket ACL round-trips', async (client, served) => {
  const bucket = await makeBucket(client)
  const place = { bucket, path: '/?acl' }
  for (const canned of [...CANNED, 'log-delivery-write']) {
    const set = await client.send({ method: 'PUT', ...place, headers: [[':acl', canned]] })
    assert.equal(set.status, 200, canned)
    await roundTrip(served, place)
  }
  const log = GROUP_URIS.LogDelivery[client.dialect]
  const own = `${MAIN.canonicalId} FULL_CONTROL`
  assert.deepEqual(await grants(client, place), [own, `${log} WRITE`, `${log} READ_ACP`])
})

inBoth('G6 PutObjectAcl: an empty ACL, or one with a deleted grantee, round-trips', async (client, served) => {
  const bucket = await makeBucket(client)
  const statement = { Effect: 'Allow', Principal: '*', Action: ['svc:PutObject', 'svc:PutObjectAcl'] }
  const policy = JSON.stringify({ Statement: { ...statement, Resource: `arn:svc:svc:::${bucket}/*` } })
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body: policy })).status, 204)
  const headers: Headers = [[':acl', 'bucket-owner-full-control']]
  const made = await client.send({ method: 'PUT', bucket, path: '/anonymous', headers, body: 'x', as: null })
  assert.equal(made.status, 200, made.body.toString())
  const place = { bucket, path: '/anonymous?acl' }
  assert.deepEqual(await grants(client, place), [
    `${ANONYMOUS_CANONICAL_ID} FULL_CONTROL`,
    `${MAIN.canonicalId} FULL_CONTROL`,
  ])
  await roundTrip(served, place)
  await put(client, bucket, '/k')
  const gone = { grantee: 'a'.repeat(64), group: false, permission: 'READ' } as const
  const own = { grantee: MAIN.canonicalId, group: false, permission: 'FULL_CONTROL' } as const
  await served.parts.store.objects.setGrants({ bucket, key: 'k' }, [own, gone])
  await roundTrip(served, { bucket, path: '/k?acl' })
  const other = (await shown(client, { bucket, path: '/k?acl' })).replace(gone.grantee, 'b'.repeat(64))
  const refused = await client.send({ method: 'PUT', bucket, path: '/k?acl', ...document(other) })
  assert.equal(outcome(refused), '400 InvalidArgument')
  assert.equal(text(refused.xml(), 'ArgumentName'), 'CanonicalUser/ID')
})

inBoth(
  'G6 G10 PutObjectAcl: under enforced ownership only the returned ACL may be sent back',
  async (client, served) => {
    const bucket = await makeBucket(client, 'test-bucket', [[':acl', 'public-read-write']])
    const theirs: Headers = [[':acl', 'public-read']]
    await client.send({ method: 'PUT', bucket, path: '/k', headers: theirs, body: 'x', as: OTHER })
    const { buckets } = served.parts.store
    await buckets.configure(bucket, () => ({ ownership: 'BucketOwnerEnforced' }))
    const place = { bucket, path: '/k?acl' }
    await roundTrip(served, place)
    await roundTrip(served, { bucket, path: '/?acl' })
    const send = async (headers: Headers, body = ''): Promise<string> =>
      outcome(await client.send({ method: 'PUT', ...place, headers, body }))
    const refused = '400 AccessControlListNotSupported'
    assert.equal(await send([[':grant-full-control', `id="${MAIN.canonicalId}"`]]), '200')
    assert.equal(await send([[':grant-full-control', `id="${OTHER.canonicalId}"`]]), refused)
    assert.equal(await send([[':grant-read', `id="${MAIN.canonicalId}"`]]), refused)
    assert.equal(await send([[':acl', 'private']]), refused)
    const read = (await shown(client, place)).replace('FULL_CONTROL', 'READ')
    assert.equal(await send([md5Header(read)], read), refused)
    // The ACL that becomes effective again after the mode ends is the one its owner set.
    await buckets.configure(bucket, () => ({ ownership: 'ObjectWriter' }))
    assert.equal((await client.send({ method: 'GET', bucket, path: '/k', as: null })).status, 200)
    const root = (await client.send({ method: 'GET', ...place, as: OTHER })).xml()
    assert.deepEqual(texts(root, 'ID'), [OTHER.canonicalId, OTHER.canonicalId])
  },
)

inBoth('R30 R31 R107 G10 PutObjectAcl: URIs of both dialects, e-mail addresses and unknown grantees', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  const place = { bucket, path: '/k?acl' }
  const grant = (type: string, inner: string, permission: string): string =>
    `<Grant><Grantee ${XSI} xsi:type="${type}">${inner}</Grantee><Permission>${permission}</Permission></Grant>`
  const send = async (...given: string[]): Promise<string> => {
    const owner = `<Owner><ID>${MAIN.canonicalId}</ID><DisplayName>not me</DisplayName></Owner>`
    const list = `<AccessControlList>${given.join('')}</AccessControlList>`
    const body = `<AccessControlPolicy>${owner}${list}</AccessControlPolicy>`
    return outcome(await client.send({ method: 'PUT', ...place, ...document(body) }))
  }
  const id = (of: Who): string => `<ID>${of.canonicalId}</ID>`
  const { AllUsers } = GROUP_URIS
  const everything = [
    grant('Group', `<URI>${AllUsers.svc}</URI>`, 'READ'),
    grant('Group', `<URI>${AllUsers.s3}</URI>`, 'READ'),
    grant('SvcCustomerByEmail', '<EmailAddress>other@example.com</EmailAddress>', 'READ_ACP'),
    grant('AmazonCustomerByEmail', '<EmailAddress>OTHER@example.com</EmailAddress>', 'WRITE_ACP'),
    grant('CanonicalUser', `${id(OTHER)}<DisplayName>whoever</DisplayName>`, 'WRITE'),
    grant('CanonicalUser', id(MAIN), 'FULL_CONTROL'),
    grant('CanonicalUser', id(MAIN), 'FULL_CONTROL'),
  ]
  assert.equal(await send(...everything), '200')
  const all = AllUsers[client.dialect]
  const wanted = [
    `${all} READ`,
    `${all} READ`,
    `${OTHER.canonicalId} READ_ACP`,
    `${OTHER.canonicalId} WRITE_ACP`,
    `${OTHER.canonicalId} WRITE`,
    `${MAIN.canonicalId} FULL_CONTROL`,
    `${MAIN.canonicalId} FULL_CONTROL`,
  ]
  assert.deepEqual(await grants(client, place), wanted)
  const list = await get(client, bucket, '/k?acl')
  assert(!list.body.includes('whoever') && !list.body.includes('example.com') && !list.body.includes('not me'))
  // WRITE on an object is stored, and grants nothing.
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/k', body: 'y', as: OTHER })).status, 403)
  assert.equal((await client.send({ method: 'DELETE', bucket, path: '/k', as: OTHER })).status, 403)
  for (const [bad, code] of [
    [grant('Group', id(MAIN), 'READ'), 'MalformedACLError'],
    [grant('CanonicalUser', `<URI>${AllUsers.svc}</URI>`, 'READ'), 'MalformedACLError'],
    [grant('CanonicalUser', `${id(MAIN)}<URI>${AllUsers.svc}</URI>`, 'READ'), 'MalformedACLError'],
    [grant('CanonicalUser', '', 'READ'), 'MalformedACLError'],
    [grant('canonicaluser', id(MAIN), 'READ'), 'MalformedACLError'],
    [grant('CanonicalUser', id(MAIN), 'read'), 'MalformedACLError'],
    [grant('CanonicalUser', id(MAIN), 'READ').repeat(101), 'MalformedACLError'],
    [grant('CanonicalUser', `<ID>${MAIN.canonicalId.toUpperCase()}</ID>`, 'READ'), 'InvalidArgument'],
    [
      grant('SvcCustomerByEmail', '<EmailAddress>x@example.com</EmailAddress>', 'READ'),
      'UnresolvableGrantByEmailAddress',
    ],
  ] as const) {
    assert.equal(await send(bad), `400 ${code}`, bad.slice(0, 300))
  }
  assert.deepEqual(await grants(client, place), wanted)
  assert.equal(await send(grant('CanonicalUser', `<ID>${ANONYMOUS_CANONICAL_ID}</ID>`, 'READ')), '200')
  assert.equal(await send(...everything.slice(-1), ...new Array(99).fill(everything[0])), '200')
  assert.equal((await grants(client, place)).length, 100)
})

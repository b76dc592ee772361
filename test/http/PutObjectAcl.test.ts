import assert from 'node:assert/strict'
import { GROUP_URIS } from '../../src/rules/access/names.ts'
import {
  document,
  elements,
  get,
  type Headers,
  lockBucket,
  md5Header,
  outcome,
  put,
  text,
  versionedBucket,
} from './actions.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, READER, type Received } from './server.ts'

const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'

const grant = (inner: string, permission: string, type = 'CanonicalUser'): string =>
  `<Grant><Grantee ${XSI} xsi:type="${type}">${inner}</Grantee><Permission>${permission}</Permission></Grant>`

const policy = (grants: string, owner = MAIN.canonicalId, list = 'AccessControlList'): string =>
  `<AccessControlPolicy><Owner><ID>${owner}</ID></Owner><${list}>${grants}</${list}></AccessControlPolicy>`

const id = (canonicalId: string): string => `<ID>${canonicalId}</ID>`

const setAcl = (client: Client, bucket: string, headers: Headers, body = '', path = '/k?acl'): Promise<Received> =>
  client.send({ method: 'PUT', bucket, path, headers, body })

/** The grants of an object, one per line. */
async function grants(client: Client, bucket: string, path = '/k?acl'): Promise<string[]> {
  const shown = (await get(client, bucket, path)).xml()
  assert.equal(shown.name, 'AccessControlPolicy')
  return elements(elements(shown, 'AccessControlList')[0]!, 'Grant').map(
    one => `${text(one, 'URI') ?? text(one, 'ID')} ${text(one, 'Permission')}`,
  )
}

const OWN = `${MAIN.canonicalId} FULL_CONTROL`

inBoth('R101 G9 PutObjectAcl GetObjectAcl: canned ACLs use the dialect’s URIs', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'hello')
  assert.deepEqual(await grants(client, bucket), [OWN])
  const before = await get(client, bucket, '/k')
  const { AllUsers, AuthenticatedUsers } = GROUP_URIS
  const all = AllUsers[client.dialect]
  for (const [canned, wanted] of [
    ['public-read', [OWN, `${all} READ`]],
    ['public-read-write', [OWN, `${all} READ`, `${all} WRITE`]],
    ['authenticated-read', [OWN, `${AuthenticatedUsers[client.dialect]} READ`]],
    ['bucket-owner-full-control', [OWN]],
    ['private', [OWN]],
  ] as const) {
    const set = await setAcl(client, bucket, [[':acl', canned]])
    assert.equal(set.status, 200)
    assert.equal(set.body.length, 0)
    assert.deepEqual(await grants(client, bucket), wanted)
    const anonymous = await client.send({ method: 'GET', bucket, path: '/k', as: null })
    assert.equal(anonymous.status, canned.startsWith('public') ? 200 : 403)
  }
  const after = await get(client, bucket, '/k')
  for (const name of ['etag', 'last-modified']) assert.equal(after.headers.get(name), before.headers.get(name))
})

inBoth(
  'R30 R103 D26 PutObjectAcl: a document needs a checksum, and the owner gets only listed grants',
  async client => {
    const bucket = await makeBucket(client)
    await put(client, bucket, '/k')
    const body = policy(grant(id(OTHER.canonicalId), 'READ'))
    const proven = document(body)
    // The signed hash is proof enough for clients that send no other.
    const unproven = client.dialect === 'svc' ? 400 : 200
    assert.equal((await setAcl(client, bucket, [], body)).status, unproven)
    assert.equal(outcome(await setAcl(client, bucket, [md5Header('x')], body)), '400 BadDigest')
    assert.equal((await setAcl(client, bucket, proven.headers, body)).status, 200)
    assert.deepEqual(await grants(client, bucket), [`${OTHER.canonicalId} READ`])
    assert.equal((await client.send({ method: 'GET', bucket, path: '/k', as: OTHER })).status, 200)
    assert.equal((await client.send({ method: 'GET', bucket, path: '/k?acl', as: OTHER })).status, 403)
    assert.equal(
      (
        await setAcl(client, bucket, [
          [':acl', 'private'],
          ['Content-MD5', '1B2M2Y8AsgTpgAmY7PhCfg=='],
        ])
      ).status,
      200,
    )
    const email = client.dialect === 'svc' ? 'SvcCustomerByEmail' : 'AmazonCustomerByEmail'
    const byMail = document(policy(grant('<EmailAddress>other@example.com</EmailAddress>', 'READ_ACP', email)))
    assert.equal((await setAcl(client, bucket, byMail.headers, byMail.body)).status, 200)
    assert.deepEqual(await grants(client, bucket), [`${OTHER.canonicalId} READ_ACP`])
    assert.equal((await client.send({ method: 'GET', bucket, path: '/k?acl', as: OTHER })).status, 200)
  },
)

inBoth('R56 PutObjectAcl: by grant headers', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  const set = await setAcl(client, bucket, [
    [':grant-read', `id="${OTHER.canonicalId}", uri="${GROUP_URIS.AuthenticatedUsers.s3}"`],
    [':grant-write-acp', 'emailAddress="other@example.com"'],
  ])
  assert.equal(set.status, 200)
  assert.deepEqual(await grants(client, bucket), [
    `${OTHER.canonicalId} READ`,
    `${GROUP_URIS.AuthenticatedUsers[client.dialect]} READ`,
    `${OTHER.canonicalId} WRITE_ACP`,
  ])
  const byGrantee = await client.send({
    method: 'PUT',
    bucket,
    path: '/k?acl',
    headers: [[':acl', 'private']],
    as: OTHER,
  })
  assert.equal(byGrantee.status, 200)
  assert.deepEqual(await grants(client, bucket), [OWN])
})

inBoth('R102 G10 PutObjectAcl: a refused request changes nothing', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  const doc = (body: string): [Headers, string] => [[md5Header(body)], body]
  const unknown = 'f'.repeat(64)
  const many = Array.from({ length: 101 }, () => grant(id(MAIN.canonicalId), 'READ')).join('')
  const good = policy(grant(id(MAIN.canonicalId), 'READ'))
  for (const [sent, wanted] of [
    [[[], ''], '400 MissingSecurityHeader'],
    [[[[':acl', 'everyone']], ''], '400 InvalidArgument'],
    [
      [
        [
          [':acl', 'private'],
          [':grant-read', `id="${MAIN.canonicalId}"`],
        ],
        '',
      ],
      '400 InvalidRequest',
    ],
    [[[[':acl', 'private'], md5Header(good)], good], '400 UnexpectedContent'],
    [[[[':acl', 'private']], good], '400 UnexpectedContent'],
    [[[[':grant-read', `id="${unknown}"`]], ''], '400 InvalidArgument'],
    [[[[':grant-read', 'uri="http://x/y"']], ''], '400 InvalidArgument'],
    [[[[':grant-read', 'name="x"']], ''], '400 InvalidArgument'],
    [[[[':grant-read', 'emailAddress="nobody@example.com"']], ''], '400 UnresolvableGrantByEmailAddress'],
    [doc('{}'), '400 MalformedACLError'],
    [doc('<AccessControlPolicy/>'), '400 MalformedACLError'],
    [doc('<Acl/>'), '400 MalformedACLError'],
    [doc(policy(grant(id(MAIN.canonicalId), 'RULE'))), '400 MalformedACLError'],
    [doc(policy(grant(id(MAIN.canonicalId), 'READ', 'Robot'))), '400 MalformedACLError'],
    [doc(policy(many)), '400 MalformedACLError'],
    [doc(policy(grant(id(unknown), 'READ'))), '400 InvalidArgument'],
    [doc(policy(grant('<URI>http://x/y</URI>', 'READ', 'Group'))), '400 InvalidArgument'],
    [doc(policy(grant(id(MAIN.canonicalId), 'READ'), OTHER.canonicalId)), '403 AccessDenied'],
    [doc(policy(grant(id(MAIN.canonicalId), 'READ'), unknown)), '400 InvalidArgument'],
  ] as const) {
    const [headers, body] = sent as [Headers, string]
    assert.equal(outcome(await setAcl(client, bucket, headers, body)), wanted, `${JSON.stringify(headers)} ${body}`)
  }
  assert.deepEqual(await grants(client, bucket), [OWN])
})

inBoth('D13 D14 D16 D21 PutObjectAcl: dialects differ in parsing', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  const isNative = client.dialect === 'svc'
  const send = async (body: string): Promise<string> => outcome(await setAcl(client, bucket, [md5Header(body)], body))
  assert.equal(await send(policy('')), isNative ? '400 MalformedACLError' : '200')
  const untyped = policy(`<Grant><Grantee>${id(MAIN.canonicalId)}</Grantee><Permission>READ</Permission></Grant>`)
  assert.equal(await send(untyped), isNative ? '200' : '400 MalformedACLError')
  const renamed = policy(grant(id(MAIN.canonicalId), 'READ'), MAIN.canonicalId, 'Grants')
  assert.equal(await send(renamed), isNative ? '200' : '400 MalformedACLError')
  const exec = await setAcl(client, bucket, [[':acl', isNative ? 'svc-exec-read' : 'aws-exec-read']])
  assert.equal(outcome(exec), isNative ? '400 InvalidArgument' : '200')
})

inBoth('R105 R118 PutObjectAcl: works by version, and missing keys are 404', async (client, { parts }) => {
  const plain = await makeBucket(client)
  const acl: Headers = [[':acl', 'public-read']]
  assert.equal(outcome(await setAcl(client, plain, acl)), '404 NoSuchKey')
  await put(client, plain, '/k')
  assert.equal((await setAcl(client, plain, acl, '', '/k?acl&versionId=null')).status, 200)
  assert.equal(outcome(await setAcl(client, plain, acl, '', `/k?acl&versionId=${'f'.repeat(32)}`)), '404 NoSuchVersion')
  assert.equal(outcome(await setAcl(client, plain, acl, '', '/k?acl&versionId=any-other')), '404 NoSuchVersion')
  assert.equal(outcome(await setAcl(client, plain, acl, '', '/k?acl&versionId=a%20b')), '400 InvalidArgument')
  const bucket = await versionedBucket(client, parts)
  const first = await put(client, bucket, '/k', 'one')
  await put(client, bucket, '/k', 'two')
  assert.equal(outcome(await setAcl(client, bucket, acl, '', '/k?acl&versionId=junk')), '400 InvalidArgument')
  const set = await setAcl(client, bucket, acl, '', `/k?acl&versionId=${first}`)
  assert.equal(set.own('version-id'), first)
  assert.deepEqual(await grants(client, bucket), [OWN])
  assert.equal((await grants(client, bucket, `/k?acl&versionId=${first}`)).length, 2)
  const marker = (await client.send({ method: 'DELETE', bucket, path: '/k' })).own('version-id')
  assert.equal(outcome(await setAcl(client, bucket, acl)), '405 MethodNotAllowed')
  assert.equal(outcome(await setAcl(client, bucket, acl, '', `/k?acl&versionId=${marker}`)), '405 MethodNotAllowed')
  assert.equal(outcome(await get(client, bucket, '/k?acl')), '404 NoSuchKey')
  assert.equal(outcome(await get(client, bucket, `/k?acl&versionId=${marker}`)), '405 MethodNotAllowed')
})

inBoth('R106 PutObjectAcl: needs WRITE_ACP', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  for (const as of [OTHER, READER, null]) {
    for (const method of ['GET', 'PUT']) {
      const headers: Headers = method === 'PUT' ? [[':acl', 'public-read']] : []
      assert.equal((await client.send({ method, bucket, path: '/k?acl', headers, as })).status, 403)
    }
  }
  assert.deepEqual(await grants(client, bucket), [OWN])
})

inBoth('G10 PutObjectAcl: honours public access blocks and enforced ownership', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  const block = { ignorePublicAcls: false, blockPublicPolicy: false, restrictPublicBuckets: false }
  await parts.store.buckets.configure(bucket, () => ({ publicAccessBlock: { ...block, blockPublicAcls: true } }))
  assert.equal(outcome(await setAcl(client, bucket, [[':acl', 'public-read']])), '403 AccessDenied')
  assert.equal((await setAcl(client, bucket, [[':acl', 'bucket-owner-read']])).status, 200)
  await parts.store.buckets.configure(bucket, () => ({ ownership: 'BucketOwnerEnforced' }))
  assert.equal(outcome(await setAcl(client, bucket, [[':acl', 'private']])), '400 AccessControlListNotSupported')
  assert.equal((await setAcl(client, bucket, [[':acl', 'bucket-owner-full-control']])).status, 200)
  assert.deepEqual(await grants(client, bucket), [OWN])
})

inBoth('P18 PutObjectAcl: independent of object lock', async client => {
  const bucket = await lockBucket(client)
  const version = await put(client, bucket, '/k', 'held')
  const hold = document(
    '<LegalHold><Status>ON</Status></LegalHold>',
    client.dialect === 'svc' ? [[':legal-hold', 'ON']] : [],
  )
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/k?legal-hold', ...hold })).status, 200)
  assert.equal((await setAcl(client, bucket, [[':acl', 'public-read-write']])).status, 200)
  const held = await get(client, bucket, '/k')
  assert.equal(held.body.toString(), 'held')
  assert.equal(held.own('object-lock-legal-hold'), 'ON')
  for (const as of [MAIN, OTHER, null]) {
    assert.equal((await client.send({ method: 'DELETE', bucket, path: `/k?versionId=${version}`, as })).status, 403)
  }
})

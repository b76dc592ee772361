import assert from 'node:assert/strict'
import type { XmlNode } from '../../src/lib/xml.ts'
import { documentsOf, faultIs, md5 } from './bucket-documents.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, type Received, type Sending } from './server.ts'

const URI = {
  svc: 'http://acs.svc/groups/global/AllUsers',
  s3: 'http://acs.amazonaws.com/groups/global/AllUsers',
} as const

const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
const grant = (type: string, name: string, permission: string): string =>
  `<Grant><Grantee ${XSI} xsi:type="${type}">${name}</Grantee><Permission>${permission}</Permission></Grant>`
const user = (id: string, permission: string): string => grant('CanonicalUser', `<ID>${id}</ID>`, permission)
const group = (uri: string, permission: string): string => grant('Group', `<URI>${uri}</URI>`, permission)
const list = (grants: string, owner = MAIN.canonicalId, element = 'AccessControlList'): string =>
  `<AccessControlPolicy><Owner><ID>${owner}</ID></Owner><${element}>${grants}</${element}></AccessControlPolicy>`

const find = (node: XmlNode, name: string): XmlNode | undefined => node.children.find(child => child.name === name)

/** Grantee and permission of every grant, in order. */
function grantsOf(answer: Received): string[] {
  assert.equal(answer.status, 200, answer.body.toString())
  return (find(answer.xml(), 'AccessControlList')?.children ?? []).map(grant => {
    const grantee = find(grant, 'Grantee')!
    const name = find(grantee, 'ID')?.text ?? find(grantee, 'URI')?.text
    return `${name} ${find(grant, 'Permission')?.text}`
  })
}

const own = `${MAIN.canonicalId} FULL_CONTROL`
const setting = (client: Client, bucket: string) => (headers: NonNullable<Sending['headers']>, body?: string) =>
  client.send({ method: 'PUT', bucket, path: '/?acl', headers, ...(body === undefined ? {} : { body }) })

inBoth('G9 PutBucketAcl, GetBucketAcl: canned ACLs expand to their grants', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'acl')
  const put = setting(client, bucket)
  const everyone = URI[client.dialect]
  const first = await at.get()
  assert.deepEqual(grantsOf(first), [own])
  assert.equal(find(find(first.xml(), 'Owner')!, 'ID')?.text, MAIN.canonicalId)
  for (const [canned, grants] of [
    ['public-read', [own, `${everyone} READ`]],
    ['public-read-write', [own, `${everyone} READ`, `${everyone} WRITE`]],
    ['authenticated-read', [own, `${everyone.replace('AllUsers', 'AuthenticatedUsers')} READ`]],
    ['bucket-owner-full-control', [own]],
    ['private', [own]],
  ] as const) {
    assert.equal((await put([[':acl', canned]])).status, 200)
    assert.deepEqual(grantsOf(await at.get()), grants)
  }
})

inBoth('G9 GetBucketAcl: a bucket that was made without a request is private, too', async (client, { parts }) => {
  const name = 'made-by-operator'
  await parts.store.buckets.create({ name, owner: MAIN.canonicalId, lockEnabled: false })
  const acl = documentsOf(client, name, 'acl')
  const plain = documentsOf(client, await makeBucket(client), 'acl')
  const shown = (await acl.get()).body.toString()
  assert.equal(shown, (await plain.get()).body.toString())
  assert.equal((await acl.put(shown)).status, 200)
})

inBoth('R30 R56 PutBucketAcl: grant headers and ACL documents are stored exactly', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'acl')
  const put = setting(client, bucket)
  const sent = await put([
    [':grant-read', `id="${OTHER.canonicalId}", emailAddress="main@example.com"`],
    [':grant-write', `uri="${URI.s3}"`],
  ])
  assert.equal(sent.status, 200, sent.body.toString())
  const everyone = URI[client.dialect]
  const others = `${OTHER.canonicalId} READ`
  assert.deepEqual(grantsOf(await at.get()), [others, `${MAIN.canonicalId} READ`, `${everyone} WRITE`])
  const body = list(user(OTHER.canonicalId, 'READ') + group(URI.svc, 'READ_ACP'))
  assert.equal((await put([md5(body)], body)).status, 200)
  assert.deepEqual(grantsOf(await at.get()), [others, `${everyone} READ_ACP`])
  // The grants take effect: anonymous callers read the ACL, and one other account lists the bucket.
  assert.equal((await at.get(null)).status, 200)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/', as: OTHER })).status, 200)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/', as: null })).status, 403)
})

inBoth('R102 R103 G10 PutBucketAcl: a refused request changes nothing', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'acl')
  const put = setting(client, bucket)
  const good = list(user(OTHER.canonicalId, 'READ'))
  const canned: [string, string] = [':acl', 'public-read']
  const granted: [string, string] = [':grant-read', `id="${OTHER.canonicalId}"`]
  const nobody = 'a'.repeat(64)
  const refused = async (
    code: string,
    headers: NonNullable<Sending['headers']>,
    body?: string,
    status = 400,
  ): Promise<void> => faultIs(await put(headers, body), status, code)
  await refused('MissingSecurityHeader', [])
  await refused('InvalidRequest', [canned, granted])
  await refused('UnexpectedContent', [canned, md5(good)], good)
  await refused('UnexpectedContent', [canned], good)
  if (client.dialect === 'svc') await refused('InvalidRequest', [], good)
  await refused('InvalidArgument', [[':acl', 'everything']])
  await refused('InvalidArgument', [[':acl', 'exec-read']])
  await refused('InvalidArgument', [[':grant-read', `id="${nobody}"`]])
  await refused('InvalidArgument', [[':grant-read', 'uri="http://example.com/"']])
  await refused('InvalidArgument', [[':grant-read', 'name="x"']])
  await refused('UnresolvableGrantByEmailAddress', [[':grant-read', 'emailAddress="x@example.com"']])
  for (const [body, code, status] of [
    ['{}', 'MalformedACLError', 400],
    ['<Other/>', 'MalformedACLError', 400],
    ['<AccessControlPolicy/>', 'MalformedACLError', 400],
    [list(user(OTHER.canonicalId, 'EVERYTHING')), 'MalformedACLError', 400],
    [list(user(OTHER.canonicalId, 'READ').repeat(101)), 'MalformedACLError', 400],
    [list(user(nobody, 'READ')), 'InvalidArgument', 400],
    [list(group('http://example.com/', 'READ')), 'InvalidArgument', 400],
    [list(user(OTHER.canonicalId, 'READ'), nobody), 'InvalidArgument', 400],
    [list(user(OTHER.canonicalId, 'READ'), OTHER.canonicalId), 'AccessDenied', 403],
  ] as const) {
    await refused(code, [md5(body)], body, status)
  }
  assert.deepEqual(grantsOf(await at.get()), [own])
  for (const as of [OTHER, null]) {
    faultIs(await at.get(as), 403, 'AccessDenied')
    faultIs(await client.send({ method: 'PUT', bucket, path: '/?acl', headers: [canned], as }), 403, 'AccessDenied')
  }
})

inBoth('D14 D16 D21 PutBucketAcl: each dialect parses ACL documents with its own strictness', async client => {
  const bucket = await makeBucket(client)
  const put = setting(client, bucket)
  const isNative = client.dialect === 'svc'
  const bare = user(OTHER.canonicalId, 'READ').replace(/ xsi:type="[^"]*"/, '')
  for (const [body, accepted] of [
    [list(''), !isNative],
    [list(bare), isNative],
    [list(user(OTHER.canonicalId, 'READ'), MAIN.canonicalId, 'Grants'), isNative],
  ] as const) {
    const answer = await put([md5(body)], body)
    assert.equal(answer.code(), accepted ? '' : 'MalformedACLError')
  }
})

import assert from 'node:assert/strict'
import { makeUser } from './actions.ts'
import { documentsOf, faultIs, shown } from './bucket-documents.ts'
import { type Client, inBoth, MAIN, OTHER, READER, type Sending } from './server.ts'

const create = (client: Client, bucket: string, headers: Sending['headers'] = [], body?: string) =>
  client.send({ method: 'PUT', bucket, path: '/', headers, ...(body === undefined ? {} : { body }) })
const isThere = async (client: Client, bucket: string): Promise<boolean> =>
  (await client.send({ method: 'HEAD', bucket, path: '/' })).status === 200
const location = (inside: string): string => `<CreateBucketConfiguration>${inside}</CreateBucketConfiguration>`

inBoth('D23 CreateBucket: an existing bucket is reported to its owner and to others', async client => {
  const made = await create(client, 'fresh')
  assert.equal(made.status, 200)
  assert.equal(made.headers.get('location'), '/fresh')
  const again = await create(client, 'fresh', [[':acl', 'public-read']])
  if (client.dialect === 'svc') faultIs(again, 409, 'BucketAlreadyOwnedByYou')
  else assert.equal(again.status, 200)
  faultIs(await client.send({ method: 'GET', bucket: 'fresh', path: '/', as: null }), 403, 'AccessDenied')
  faultIs(await client.send({ method: 'PUT', bucket: 'fresh', path: '/', as: OTHER }), 409, 'BucketAlreadyExists')
  faultIs(await client.send({ method: 'PUT', bucket: 'other', path: '/', as: null }), 403, 'AccessDenied')
  faultIs(await client.send({ method: 'PUT', bucket: 'other', path: '/', as: READER }), 403, 'AccessDenied')
  assert.equal(await isThere(client, 'other'), false)
})

inBoth('G15 R12 CreateBucket: tags on creation need permission to tag', async (client, { parts }) => {
  const tag = (key: string): string => `<Tag><Key>${key}</Key><Value>v</Value></Tag>`
  const tagged = (...keys: readonly string[]): string => location(`<Tags>${keys.map(tag).join('')}</Tags>`)
  assert.equal((await create(client, 'tagged', [], tagged('a', 'b'))).status, 200)
  const set = `<Tagging><TagSet>${tag('a')}${tag('b')}</TagSet></Tagging>`
  assert.equal(shown(await documentsOf(client, 'tagged', 'tagging').get()), set)
  assert.equal((await create(client, 'bare', [], tagged())).status, 200)
  faultIs(await documentsOf(client, 'bare', 'tagging').get(), 404, 'NoSuchTagSet')
  faultIs(await create(client, 'twice', [], tagged('a', 'a')), 400, 'InvalidTag')
  faultIs(await create(client, 'strange', [], location('<Tags><Other/></Tags>')), 400, 'MalformedXML')
  const as = await makeUser(parts, MAIN, 'maker', [{ Effect: 'Allow', Action: 'svc:CreateBucket', Resource: '*' }])
  const mine = { method: 'PUT', bucket: 'mine', path: '/', as }
  faultIs(await client.send({ ...mine, body: tagged('a') }), 403, 'AccessDenied')
  assert.equal(await isThere(client, 'mine'), false)
  assert.equal((await client.send(mine)).status, 200)
})

inBoth('A42 CreateBucket: bucket name rules', async client => {
  for (const name of ['ab', 'a'.repeat(64), 'a..b', 'a.-b', '-ab', 'ab-', '192.168.1.1', 'xn--abc', 'Upper']) {
    faultIs(await client.send({ method: 'PUT', path: `/${name}` }), 400, 'InvalidBucketName')
  }
  assert.equal((await create(client, 'a'.repeat(63))).status, 200)
})

inBoth('G15 CreateBucket: the location constraint must be the server’s region', async client => {
  const constraint = (region: string): string => location(`<LocationConstraint>${region}</LocationConstraint>`)
  faultIs(await create(client, 'far', [], constraint('eu-central-1')), 400, 'InvalidLocationConstraint')
  faultIs(await create(client, 'far', [], '<Other/>'), 400, 'MalformedXML')
  faultIs(await create(client, 'far', [], 'nonsense'), 400, 'MalformedXML')
  faultIs(await create(client, 'far', [], location('<Bucket><Type>Directory</Type></Bucket>')), 501, 'NotImplemented')
  assert.equal(await isThere(client, 'far'), false)
  assert.equal((await create(client, 'near', [], constraint('us-east-1'))).status, 200)
  assert.equal((await create(client, 'near-too', [], location(''))).status, 200)
})

inBoth('G15 CreateBucket: ACL, ownership and object lock by header', async client => {
  const owned: [string, string] = [':object-ownership', 'BucketOwnerEnforced']
  const grant: [string, string] = [':grant-write', `id="${OTHER.canonicalId}"`]
  faultIs(await create(client, 'made', [owned, [':acl', 'public-read']]), 400, 'InvalidBucketAclWithObjectOwnership')
  faultIs(await create(client, 'made', [owned, grant]), 400, 'InvalidBucketAclWithObjectOwnership')
  faultIs(await create(client, 'made', [[':acl', 'public-read'], grant]), 400, 'InvalidRequest')
  faultIs(await create(client, 'made', [[':acl', 'everything']]), 400, 'InvalidArgument')
  faultIs(await create(client, 'made', [[':object-ownership', 'Nobody']]), 400, 'InvalidArgument')
  faultIs(await create(client, 'made', [[':bucket-object-lock-enabled', 'perhaps']]), 400, 'InvalidArgument')
  assert.equal(await isThere(client, 'made'), false)
  assert.equal((await create(client, 'made', [owned, [':acl', 'private']])).status, 200)
  assert.match(shown(await documentsOf(client, 'made', 'ownershipControls').get()), /BucketOwnerEnforced/)
  assert.equal((await create(client, 'granted', [grant])).status, 200)
  const put = await client.send({ method: 'PUT', bucket: 'granted', path: '/k', body: 'x', as: OTHER })
  assert.equal(put.status, 200)
  assert.equal((await create(client, 'locked', [[':bucket-object-lock-enabled', 'true']])).status, 200)
  assert.match(shown(await documentsOf(client, 'locked', 'versioning').get()), /Enabled/)
  assert.match(shown(await documentsOf(client, 'locked', 'object-lock').get()), /Enabled/)
})

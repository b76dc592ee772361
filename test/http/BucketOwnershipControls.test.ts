import assert from 'node:assert/strict'
import { document, elements, texts } from './actions.ts'
import { documentSuite, documentsOf, faultIs, shown } from './bucket-documents.ts'
import { inBoth, MAIN, makeBucket, OTHER } from './server.ts'

const controls = (mode: string): string =>
  `<OwnershipControls><Rule><ObjectOwnership>${mode}</ObjectOwnership></Rule></OwnershipControls>`

const VERSIONING = document('<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>')

documentSuite('BucketOwnershipControls (Get…, Put…, DeleteBucketOwnershipControls)', {
  query: 'ownershipControls',
  good: controls('BucketOwnerPreferred'),
  absent: 'OwnershipControlsNotFoundError',
  removable: true,
  bad: [
    ['no rule', '<OwnershipControls/>', 'MalformedXML'],
    ['an empty rule', '<OwnershipControls><Rule/></OwnershipControls>', 'MalformedXML'],
    ['another mode', controls('Nobody'), 'MalformedXML'],
  ],
})

inBoth('G6 PutBucketOwnershipControls: BucketOwnerEnforced disables ACLs and refuses new ones', async client => {
  const bucket = await makeBucket(client)
  const at = documentsOf(client, bucket, 'ownershipControls')
  const acl = (value: string) => client.send({ method: 'PUT', bucket, path: '/?acl', headers: [[':acl', value]] })
  assert.equal((await acl('public-read')).status, 200)
  faultIs(await at.put(controls('BucketOwnerEnforced')), 400, 'InvalidBucketAclWithObjectOwnership')
  faultIs(await at.get(), 404, 'OwnershipControlsNotFoundError')
  assert.equal((await acl('private')).status, 200)
  assert.equal((await at.put(controls('BucketOwnerEnforced'))).status, 200)
  assert.equal(shown(await at.get()), controls('BucketOwnerEnforced'))
  faultIs(await acl('public-read'), 400, 'AccessControlListNotSupported')
  const list = await client.send({ method: 'GET', bucket, path: '/?acl' })
  const grants = list.xml().children.find(({ name }) => name === 'AccessControlList')?.children ?? []
  assert.equal(grants.length, 1)
  assert.equal(grants[0]?.children[0]?.children[0]?.text, MAIN.canonicalId)
})

inBoth('G6 PutBucketOwnershipControls: listings show the owner that counts', async client => {
  const bucket = await makeBucket(client, 'shared-bucket', [[':acl', 'public-read-write']])
  const at = documentsOf(client, bucket, 'ownershipControls')
  for (const [method, path] of [
    ['PUT', '/k'],
    ['DELETE', '/k'],
    ['PUT', '/k'],
    ['POST', '/k?uploads'],
  ] as const) {
    if (method === 'DELETE') await client.send({ method: 'PUT', bucket, path: '/?versioning', ...VERSIONING })
    assert((await client.send({ method, bucket, path, as: OTHER })).status < 300)
  }
  const owners = async (): Promise<string[]> => {
    const ids: string[] = []
    for (const query of ['', 'list-type=2&fetch-owner=true', 'versions', 'uploads']) {
      const { children } = (await client.send({ method: 'GET', bucket, path: `/?${query}` })).xml()
      for (const child of children) for (const owner of elements(child, 'Owner')) ids.push(...texts(owner, 'ID'))
    }
    return ids
  }
  assert.deepEqual(await owners(), Array(6).fill(OTHER.canonicalId))
  assert.equal(
    (await client.send({ method: 'PUT', bucket, path: '/?acl', headers: [[':acl', 'private']] })).status,
    200,
  )
  assert.equal((await at.put(controls('BucketOwnerEnforced'))).status, 200)
  assert.deepEqual(await owners(), Array(6).fill(MAIN.canonicalId))
  assert.equal((await at.remove()).status, 204)
  assert.deepEqual(await owners(), Array(6).fill(OTHER.canonicalId))
})

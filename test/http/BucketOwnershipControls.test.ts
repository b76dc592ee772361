import assert from 'node:assert/strict'
import { documentSuite, documentsOf, faultIs, shown } from './bucket-documents.ts'
import { inBoth, MAIN, makeBucket } from './server.ts'

const controls = (mode: string): string =>
  `<OwnershipControls><Rule><ObjectOwnership>${mode}</ObjectOwnership></Rule></OwnershipControls>`

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

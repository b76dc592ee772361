import assert from 'node:assert/strict'
import { documentSuite, documentsOf, faultIs } from './bucket-documents.ts'
import { inBoth, makeBucket } from './server.ts'

const tag = ([key, value]: readonly [string, string]): string => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`
const tags = (...pairs: readonly (readonly [string, string])[]): string =>
  `<Tagging><TagSet>${pairs.map(tag).join('')}</TagSet></Tagging>`
const many = (count: number): [string, string][] => Array.from({ length: count }, (_, i) => [`k${i}`, 'v'])

documentSuite('BucketTagging (GetBucketTagging, PutBucketTagging, DeleteBucketTagging)', {
  query: 'tagging',
  good: tags(['b', '2'], ['a', 'ü ö']),
  absent: 'NoSuchTagSet',
  removable: true,
  putStatus: client => (client.dialect === 'svc' ? 200 : 204),
  bad: [
    ['no set', '<Tagging/>', 'MalformedXML'],
    ['no value', '<Tagging><TagSet><Tag><Key>a</Key></Tag></TagSet></Tagging>', 'MalformedXML'],
    ['a key twice', tags(['a', '1'], ['a', '2']), 'InvalidTag'],
    ['a key that is reserved', tags(['aws:a', '1']), 'InvalidTag'],
    ['an empty key', tags(['', '1']), 'InvalidTag'],
    ['51 tags', tags(...many(51)), 'BadRequest'],
  ],
})

inBoth('R21 PutBucketTagging: fifty tags fit, and an empty set deletes them', async client => {
  const at = documentsOf(client, await makeBucket(client), 'tagging')
  assert((await at.put(tags(...many(50)))).status < 300)
  assert.equal((await at.get()).xml().children[0]?.children.length, 50)
  assert((await at.put(tags())).status < 300)
  faultIs(await at.get(), 404, 'NoSuchTagSet')
})

import assert from 'node:assert/strict'
import { documentSuite, documentsOf, faultIs } from './bucket-documents.ts'
import { inBoth, makeBucket, OTHER } from './server.ts'

const NAMES = ['BlockPublicAcls', 'IgnorePublicAcls', 'BlockPublicPolicy', 'RestrictPublicBuckets'] as const

const block = (...on: readonly (typeof NAMES)[number][]): string => {
  const flags = NAMES.map(name => `<${name}>${on.includes(name)}</${name}>`)
  return `<PublicAccessBlockConfiguration>${flags.join('')}</PublicAccessBlockConfiguration>`
}

documentSuite('PublicAccessBlock (GetPublicAccessBlock, PutPublicAccessBlock, DeletePublicAccessBlock)', {
  query: 'publicAccessBlock',
  good: block('BlockPublicAcls', 'RestrictPublicBuckets'),
  absent: 'NoSuchPublicAccessBlockConfiguration',
  removable: true,
  bad: [
    ['nothing', '<PublicAccessBlockConfiguration/>', 'InvalidRequest'],
    ['a flag that is none', block().replace('false', 'perhaps'), 'MalformedXML'],
  ],
})

const publicPolicy = (bucket: string): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Principal: '*', Action: 'svc:GetObject', Resource: `arn:svc:svc:::${bucket}/*` }],
  })

inBoth('G7 G10 PutPublicAccessBlock: public ACLs are refused or ignored', async client => {
  const bucket = await makeBucket(client)
  await client.send({ method: 'PUT', bucket, path: '/k', body: 'x' })
  const acl = () => client.send({ method: 'PUT', bucket, path: '/?acl', headers: [[':acl', 'public-read']] })
  const list = () => client.send({ method: 'GET', bucket, path: '/', as: null })
  const at = documentsOf(client, bucket, 'publicAccessBlock')
  assert.equal((await acl()).status, 200)
  assert.equal((await list()).status, 200)
  await at.put(block('IgnorePublicAcls'))
  assert.equal((await list()).status, 403)
  assert.equal((await acl()).status, 200)
  await at.put(block('BlockPublicAcls'))
  faultIs(await acl(), 403, 'AccessDenied')
  assert.equal((await list()).status, 200)
  await at.remove()
  assert.equal((await acl()).status, 200)
})

inBoth('G7 PutPublicAccessBlock: public policies are refused or restricted to the owner’s account', async client => {
  const bucket = await makeBucket(client)
  await client.send({ method: 'PUT', bucket, path: '/k', body: 'x' })
  const policy = documentsOf(client, bucket, 'policy')
  const at = documentsOf(client, bucket, 'publicAccessBlock')
  const get = () => client.send({ method: 'GET', bucket, path: '/k', as: OTHER })
  await at.put(block('BlockPublicPolicy'))
  faultIs(await policy.put(publicPolicy(bucket)), 403, 'AccessDenied')
  faultIs(await policy.get(), 404, 'NoSuchBucketPolicy')
  await at.remove()
  assert.equal((await policy.put(publicPolicy(bucket))).status, 204)
  assert.equal((await get()).status, 200)
  await at.put(block('RestrictPublicBuckets'))
  assert.equal((await get()).status, 403)
})

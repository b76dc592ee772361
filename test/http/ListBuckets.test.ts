import assert from 'node:assert/strict'
import { faultIs } from './bucket-documents.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, READER, type Received } from './server.ts'

const list = (client: Client, query = '') => client.send({ method: 'GET', path: `/${query}` })
const child = (answer: Received, name: string) => answer.xml().children.find(node => node.name === name)
const names = (answer: Received): string[] =>
  (child(answer, 'Buckets')?.children ?? []).map(bucket => bucket.children[0]?.text ?? '')

inBoth('G14 ListBuckets: lists the caller’s own buckets in order', async client => {
  assert.deepEqual(names(await list(client)), [])
  for (const name of ['b-two', 'a-one', 'b-one']) await makeBucket(client, name)
  await client.send({ method: 'PUT', bucket: 'foreign', path: '/', as: OTHER })
  const all = await list(client)
  assert.deepEqual(names(all), ['a-one', 'b-one', 'b-two'])
  assert.equal(all.xml().name, 'ListAllMyBucketsResult')
  assert.equal(child(all, 'Owner')?.children[0]?.text, MAIN.canonicalId)
  assert.equal(child(all, 'ContinuationToken'), undefined)
  faultIs(await client.send({ method: 'GET', path: '/', as: null }), 403, 'AccessDenied')
  faultIs(await client.send({ method: 'GET', path: '/', as: READER }), 403, 'AccessDenied')
})

inBoth('G14 ListBuckets: pages, prefixes, regions', async client => {
  for (const name of ['b-two', 'a-one', 'b-one', 'b-three', 'c-one']) await makeBucket(client, name)
  await client.send({ method: 'PUT', bucket: 'b-foreign', path: '/', as: OTHER })
  const seen: string[] = []
  let token: string | undefined
  for (let pages = 0; pages < 5; pages++) {
    const rest = token === undefined ? '' : `&continuation-token=${token}`
    const page = await list(client, `?max-buckets=2&prefix=b-${rest}`)
    assert.equal(page.status, 200)
    assert.equal(child(page, 'Prefix')?.text, 'b-')
    seen.push(...names(page))
    token = child(page, 'ContinuationToken')?.text
    if (token === undefined) break
  }
  assert.deepEqual(seen, ['b-one', 'b-three', 'b-two'])
  assert.deepEqual(names(await list(client, '?prefix=z')), [])
  assert.deepEqual(names(await list(client, '?bucket-region=elsewhere')), [])
  assert.equal(names(await list(client, '?bucket-region=us-east-1')).length, 5)
})

inBoth('A60 ListBuckets: invalid page sizes and tokens are refused', async client => {
  for (const query of [
    'max-buckets=0',
    'max-buckets=10001',
    'max-buckets=-1',
    'max-buckets=x',
    'continuation-token=',
    'continuation-token=nonsense',
    'continuation-token=MQAA',
  ]) {
    faultIs(await list(client, `?${query}`), 400, 'InvalidArgument')
  }
})

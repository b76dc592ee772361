import assert from 'node:assert/strict'
import type { XmlNode } from '../../src/lib/xml.ts'
import { begin, childrenAt, detail, expectFault, textAt } from './parts.ts'
import { inBoth, MAIN, makeBucket, OTHER } from './server.ts'

const keysOf = (root: XmlNode): string[] => childrenAt(root, 'Upload').map(one => textAt(one, 'Key'))

inBoth('R29 R71 ListMultipartUploads: ordered by key, then start time, page by page', async (client, { clock }) => {
  const bucket = await makeBucket(client)
  const ids = new Map<string, string>()
  for (const [name, path] of [
    ['b1', '/b'],
    ['a', '/a'],
    ['b2', '/b'],
    ['deep', '/d/e/f'],
    ['deep2', '/d/g'],
  ] as const) {
    ids.set(name, (await begin(client, bucket, path)).id)
    clock.move(1000)
  }
  const page = async (query: string) => (await client.send({ method: 'GET', bucket, path: `/?uploads${query}` })).xml()
  const all = await page('')
  assert.equal(all.name, 'ListMultipartUploadsResult')
  assert.deepEqual(keysOf(all), ['a', 'b', 'b', 'd/e/f', 'd/g'])
  const uploads = childrenAt(all, 'Upload').map(one => textAt(one, 'UploadId'))
  assert.deepEqual(
    uploads,
    ['a', 'b1', 'b2', 'deep', 'deep2'].map(name => ids.get(name)),
  )
  assert.equal(textAt(all, 'Upload', 'Initiator', 'ID'), MAIN.canonicalId)
  assert.equal(textAt(all, 'Upload', 'StorageClass'), 'STANDARD')
  const first = await page('&max-uploads=2')
  assert.equal(textAt(first, 'IsTruncated'), 'true')
  assert.equal(textAt(first, 'NextKeyMarker'), 'b')
  assert.equal(textAt(first, 'NextUploadIdMarker'), ids.get('b1'))
  const second = await page(`&max-uploads=2&key-marker=b&upload-id-marker=${ids.get('b1')}`)
  assert.deepEqual(keysOf(second), ['b', 'd/e/f'])
  assert.deepEqual(keysOf(await page('&key-marker=b')), ['d/e/f', 'd/g'])
  assert.deepEqual(keysOf(await page(`&upload-id-marker=${ids.get('b1')}`)), keysOf(all))
  const rolled = await page('&delimiter=%2F')
  assert.deepEqual(keysOf(rolled), ['a', 'b', 'b'])
  assert.equal(textAt(rolled, 'CommonPrefixes', 'Prefix'), 'd/')
  assert.deepEqual(keysOf(await page('&prefix=d%2Fg')), ['d/g'])
})

inBoth('ListMultipartUploads: missing permission, missing bucket and bad numbers are refused', async client => {
  const bucket = await makeBucket(client)
  const get = (path: string, as = MAIN, at = bucket) => client.send({ method: 'GET', bucket: at, path, as })
  expectFault(await get('/?uploads', OTHER), 403, 'AccessDenied')
  expectFault(await get('/?uploads', MAIN, 'no-such-bucket'), 404, 'NoSuchBucket')
  expectFault(await get('/?uploads&max-uploads=x'), 400, 'InvalidArgument')
  expectFault(await get('/?uploads&encoding-type=x'), 400, 'InvalidArgument')
})

inBoth('G14 ListMultipartUploads: an invalid upload-id-marker is refused', async client => {
  const bucket = await makeBucket(client)
  const list = (query: string) => client.send({ method: 'GET', bucket, path: `/?uploads&${query}` })
  for (const marker of ['zzz', '0'.repeat(31), 'G'.repeat(32)]) {
    const refused = await list(`key-marker=a&upload-id-marker=${marker}`)
    expectFault(refused, 400, 'InvalidArgument')
    assert.equal(detail(refused, 'ArgumentName'), 'upload-id-marker')
    // Without the key marker it is ignored.
    assert.equal((await list(`upload-id-marker=${marker}`)).status, 200)
  }
  assert.equal((await list(`key-marker=a&upload-id-marker=${'0'.repeat(32)}`)).status, 200)
  assert.equal((await list('key-marker=a&upload-id-marker=')).status, 200)
})

inBoth('G14 ListMultipartUploads ListObjectVersions: listings are refused on object paths', async client => {
  const bucket = await makeBucket(client)
  for (const [query, message] of [
    ['uploads', 'Key is not expected for the GET method ?uploads subresource'],
    ['versions', 'There is no such thing as the ?versions sub-resource for a key'],
  ] as const) {
    const refused = await client.send({ method: 'GET', bucket, path: `/k?${query}` })
    expectFault(refused, 400, 'InvalidRequest')
    assert.equal(detail(refused, 'Message'), message)
  }
  expectFault(await client.send({ method: 'DELETE', bucket, path: '/k?uploads' }), 405, 'MethodNotAllowed')
})

import assert from 'node:assert/strict'
import { elements, get, type Headers, objectInParts, outcome, put, text, texts } from './actions.ts'
import { inBoth, makeBucket, OTHER, READER } from './server.ts'

const wanted = (names: string, ...more: Headers): Headers => [[':object-attributes', names], ...more]

inBoth('G13 GetObjectAttributes: returns the requested attributes and no others', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'hello world', [[':checksum-crc32', 'DUoRhQ==']])
  const all = await get(client, bucket, '/k?attributes', wanted('ETag,Checksum, ObjectParts,StorageClass,ObjectSize'))
  assert.equal(all.status, 200)
  assert(all.headers.has('last-modified'))
  const shown = all.xml()
  assert.equal(shown.name, 'GetObjectAttributesResponse')
  assert.equal(text(shown, 'ETag'), '5eb63bbbe01eeed093cb22bb8f5acdc3')
  assert.equal(text(shown, 'ChecksumCRC32'), 'DUoRhQ==')
  assert.equal(text(shown, 'ChecksumType'), 'FULL_OBJECT')
  assert.equal(text(shown, 'ObjectSize'), '11')
  assert.equal(text(shown, 'StorageClass'), 'STANDARD')
  assert.deepEqual(elements(shown, 'ObjectParts'), [])
  const few = (await get(client, bucket, '/k?attributes', wanted('ObjectSize'))).xml()
  assert.deepEqual(
    few.children.map(({ name }) => name),
    ['ObjectSize'],
  )
})

inBoth('G13 GetObjectAttributes: lists parts of a composite object page by page', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  const bodies = [Buffer.alloc(5 * 2 ** 20, 'A'), Buffer.alloc(5 * 2 ** 20, 'B'), Buffer.alloc(5 * 2 ** 20, 'C')]
  await objectInParts(parts, bucket, 'k', bodies)
  const shown = (await get(client, bucket, '/k?attributes', wanted('ETag,Checksum,ObjectParts'))).xml()
  assert.equal(text(shown, 'ETag'), 'b2add96cc9702bbf4efb0ccdfc6b7747-3')
  assert.equal(text(elements(shown, 'Checksum')[0]!, 'ChecksumCRC32'), 'Z+ry2Q==')
  const [list] = elements(shown, 'ObjectParts')
  assert.equal(text(list!, 'PartsCount'), '3')
  assert.deepEqual(texts(list!, 'PartNumber'), ['1', '2', '3'])
  assert.deepEqual(texts(list!, 'ChecksumCRC32'), ['JRTCyQ==', 'QoZTGg==', 'YAgjqw=='])
  const page = async (after: string) => {
    const headers = wanted('ObjectParts', [':max-parts', '2'], [':part-number-marker', after])
    return elements((await get(client, bucket, '/k?attributes', headers)).xml(), 'ObjectParts')[0]!
  }
  const first = await page('0')
  assert.deepEqual(texts(first, 'PartNumber'), ['1', '2'])
  assert.equal(text(first, 'IsTruncated'), 'true')
  assert.equal(text(first, 'NextPartNumberMarker'), '2')
  const second = await page('2')
  assert.deepEqual(texts(second, 'PartNumber'), ['3'])
  assert.equal(text(second, 'IsTruncated'), 'false')
})

inBoth('G13 GetObjectAttributes: invalid requests are refused', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k')
  assert.equal(outcome(await get(client, bucket, '/k?attributes')), '400 InvalidRequest')
  assert.equal(outcome(await get(client, bucket, '/k?attributes', wanted('Colour'))), '400 InvalidArgument')
  const bad = wanted('ObjectParts', [':max-parts', '-1'])
  assert.equal(outcome(await get(client, bucket, '/k?attributes', bad)), '400 InvalidArgument')
  assert.equal(outcome(await get(client, bucket, '/none?attributes', wanted('ETag'))), '404 NoSuchKey')
  for (const as of [OTHER, READER, null]) {
    const answer = await client.send({ method: 'GET', bucket, path: '/k?attributes', headers: wanted('ETag'), as })
    assert.equal(answer.status, 403)
  }
})

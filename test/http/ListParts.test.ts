import assert from 'node:assert/strict'
import { begin, childrenAt, expectFault, part, textAt } from './parts.ts'
import { inBoth, MAIN, makeBucket, OTHER } from './server.ts'

inBoth('R73 ListParts: pages are ordered by part number', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket, '/k', [
    [':checksum-algorithm', 'SHA1'],
    [':storage-class', 'STANDARD_IA'],
  ])
  for (const number of [7, 2, 10_000, 5]) await part(client, place, number, `part ${number}`)
  const page = async (query: string) =>
    (await client.send({ method: 'GET', bucket, path: `/k?uploadId=${place.id}${query}` })).xml()
  const all = await page('')
  assert.equal(all.name, 'ListPartsResult')
  const numbers = childrenAt(all, 'Part').map(one => textAt(one, 'PartNumber'))
  assert.deepEqual(numbers, ['2', '5', '7', '10000'])
  for (const [name, value] of [
    ['Bucket', bucket],
    ['Key', 'k'],
    ['UploadId', place.id],
    ['StorageClass', 'STANDARD_IA'],
    ['IsTruncated', 'false'],
    ['MaxParts', '1000'],
    ['ChecksumAlgorithm', 'SHA1'],
    ['ChecksumType', 'COMPOSITE'],
  ] as const) {
    assert.equal(textAt(all, name), value, name)
  }
  assert.equal(textAt(all, 'Initiator', 'ID'), MAIN.canonicalId)
  assert.equal(textAt(all, 'Owner', 'ID'), MAIN.canonicalId)
  assert.match(textAt(all, 'Part', 'ChecksumSHA1'), /^.{28}$/)
  const first = await page('&max-parts=2')
  assert.equal(textAt(first, 'IsTruncated'), 'true')
  assert.equal(textAt(first, 'NextPartNumberMarker'), '5')
  const rest = await page('&max-parts=2&part-number-marker=5')
  assert.deepEqual(
    childrenAt(rest, 'Part').map(one => textAt(one, 'PartNumber')),
    ['7', '10000'],
  )
  assert.equal(textAt(rest, 'IsTruncated'), 'false')
})

inBoth('R73 ListParts: invalid numbers, uploads and callers are refused', async client => {
  const bucket = await makeBucket(client)
  const { id } = await begin(client, bucket)
  const get = (path: string, as = MAIN) => client.send({ method: 'GET', bucket, path, as })
  for (const query of ['max-parts=-1', 'max-parts=x', 'part-number-marker=x']) {
    expectFault(await get(`/k?uploadId=${id}&${query}`), 400, 'InvalidArgument')
  }
  expectFault(await get(`/k?uploadId=${'1'.repeat(32)}`), 404, 'NoSuchUpload')
  expectFault(await get('/k?uploadId='), 404, 'NoSuchUpload')
  expectFault(await get(`/k?uploadId=${id}`, OTHER), 403, 'AccessDenied')
})

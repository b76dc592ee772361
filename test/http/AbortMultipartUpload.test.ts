import assert from 'node:assert/strict'
import { begin, beginning, expectFault, finish, part, putPart, textAt } from './parts.ts'
import { inBoth, makeBucket, OTHER, READER } from './server.ts'

inBoth('R36 R98 R100 AbortMultipartUpload: ends the upload; later calls get NoSuchUpload', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const one = await part(client, place, 1, 'x')
  const path = `/k?uploadId=${place.id}`
  expectFault(await client.send({ method: 'DELETE', bucket, path: `/other?uploadId=${place.id}` }), 404, 'NoSuchUpload')
  const aborted = await client.send({ method: 'DELETE', bucket, path })
  assert.equal(aborted.status, 204)
  assert.equal(aborted.body.length, 0)
  expectFault(await client.send({ method: 'DELETE', bucket, path }), 404, 'NoSuchUpload')
  expectFault(await client.send({ method: 'GET', bucket, path }), 404, 'NoSuchUpload')
  expectFault(await putPart(client, place, 1, 'x'), 404, 'NoSuchUpload')
  expectFault(await finish(client, place, [one]), 404, 'NoSuchUpload')
  expectFault(await client.send({ method: 'DELETE', bucket: 'no-such-bucket', path }), 404, 'NoSuchBucket')
})

inBoth('R98 AbortMultipartUpload: a completed upload is NoSuchUpload', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  await finish(client, place, [await part(client, place, 1, 'x')])
  const answer = await client.send({ method: 'DELETE', bucket, path: `/k?uploadId=${place.id}` })
  expectFault(answer, 404, 'NoSuchUpload')
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'x')
})

inBoth('R99 AbortMultipartUpload: the bucket owner and the initiator may abort, others may not', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':acl', 'public-read-write']])
  const place = await begin(client, bucket)
  for (const as of [OTHER, READER, null]) {
    const answer = await client.send({ method: 'DELETE', bucket, path: `/k?uploadId=${place.id}`, as })
    expectFault(answer, 403, 'AccessDenied')
  }
  const theirs = await beginning(client, bucket, '/k', [], OTHER)
  assert.equal(theirs.status, 200)
  const path = `/k?uploadId=${textAt(theirs.xml(), 'UploadId')}`
  assert.equal((await client.send({ method: 'GET', bucket, path, as: OTHER })).status, 200)
  assert.equal((await client.send({ method: 'GET', bucket, path, as: READER })).status, 403)
  assert.equal((await client.send({ method: 'DELETE', bucket, path, as: OTHER })).status, 204)
  const again = await beginning(client, bucket, '/k', [], OTHER)
  const ours = `/k?uploadId=${textAt(again.xml(), 'UploadId')}`
  assert.equal((await client.send({ method: 'DELETE', bucket, path: ours })).status, 204)
})

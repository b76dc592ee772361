/** Which fault is reported when several apply: headers, then existence, then conditions, then the body. */
import assert from 'node:assert/strict'
import { type Headers, lockBucket, md5Header, outcome, put } from './actions.ts'
import { begin, expectFault, expectFolded, finish, part, putPart } from './parts.ts'
import { type Client, inBoth, makeBucket, OTHER } from './server.ts'

const WRONG_MD5 = md5Header('something else')

inBoth('G1 R74 R75 R85 R104 CompleteMultipartUpload: headers, then the upload, then its list', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const one = await part(client, place, 1, 'hello')
  const gone = { ...place, id: 'f'.repeat(32) }
  expectFault(await finish(client, gone, [one], [[':mp-object-size', 'x']]), 400, 'InvalidRequest')
  expectFault(await finish(client, gone, [one], [[':checksum-crc32', 'x']]), 400, 'InvalidRequest')
  expectFault(await finish(client, gone, [one], [['Content-MD5', 'x']]), 400, 'InvalidDigest')
  expectFault(await finish(client, gone, [one], [WRONG_MD5]), 404, 'NoSuchUpload')
  expectFault(await finish(client, gone, 'nonsense'), 404, 'NoSuchUpload')
  expectFault(await finish(client, gone, [one], [['If-Match', '"x"']]), 404, 'NoSuchUpload')
  expectFault(await finish(client, place, 'nonsense', [WRONG_MD5]), 400, 'BadDigest')
  assert.equal((await finish(client, place, [one])).status, 200)
})

inBoth('G1 R92 R93 D1 CompleteMultipartUpload: conditions are checked before the list', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const one = await part(client, place, 1, 'hello')
  await put(client, bucket, '/k')
  const hit = client.dialect === 'svc' ? '304' : '412 PreconditionFailed'
  for (const [list, headers] of [
    ['nonsense', []],
    ['<CompleteMultipartUpload/>', []],
    [[{ ...one, etag: '"x"' }], []],
    [[one, one], []],
    [[one], [WRONG_MD5]],
    [[one], [[':mp-object-size', '99']]],
    [[one], [[':checksum-crc32', 'AAAAAA==']]],
  ] as const) {
    const failed = await finish(client, place, list, [...headers, ['If-Match', '"x"']])
    assert.equal(outcome(failed), '412 PreconditionFailed', JSON.stringify(list))
    assert.equal(outcome(await finish(client, place, list, [...headers, ['If-None-Match', '*']])), hit)
  }
  assert.equal((await finish(client, place, [one])).status, 200)
})

inBoth('G1 R50 R104 PutObject: headers, then conditions, then the body', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'before')
  const store = async (...headers: Headers) =>
    outcome(await client.send({ method: 'PUT', bucket, path: '/k', body: 'x', headers }))
  for (const condition of [
    ['If-None-Match', '*'],
    ['If-Match', '"x"'],
  ] as const) {
    assert.equal(await store(condition, WRONG_MD5), '412 PreconditionFailed')
    assert.equal(await store(condition, [':checksum-crc32', 'AAAAAA==']), '412 PreconditionFailed')
    assert.equal(await store(condition, ['Content-MD5', 'x']), '400 InvalidDigest')
    assert.equal(await store(condition, [':acl', 'x']), '400 InvalidArgument')
  }
  assert.equal(await store(['If-Match', '*'], WRONG_MD5), '400 BadDigest')
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'before')
})

const setAcl = (client: Client, bucket: string, headers: Headers, body = '', as = {}) =>
  client.send({ method: 'PUT', bucket, path: '/none?acl', headers, body, ...as })

inBoth('G1 R102 R104 R105 PutObjectAcl: permissions, then headers, then the object, then the body', async client => {
  const bucket = await makeBucket(client)
  expectFault(await setAcl(client, bucket, [[':acl', 'x']], '', { as: OTHER }), 403, 'AccessDenied')
  expectFault(await setAcl(client, bucket, [[':acl', 'x']]), 400, 'InvalidArgument')
  expectFault(await setAcl(client, bucket, [[':grant-read', 'x']]), 400, 'InvalidArgument')
  const both: Headers = [
    [':acl', 'private'],
    [':grant-read', 'id="x"'],
  ]
  expectFault(await setAcl(client, bucket, both), 400, 'InvalidRequest')
  expectFault(await setAcl(client, bucket, [[':acl', 'private']], 'body'), 400, 'UnexpectedContent')
  expectFault(await setAcl(client, bucket, []), 400, 'MissingSecurityHeader')
  expectFault(await setAcl(client, bucket, [['Content-MD5', 'x']], 'body'), 400, 'InvalidDigest')
  for (const headers of [[], [WRONG_MD5], [md5Header('body')]] as const) {
    expectFault(await setAcl(client, bucket, headers, 'body'), 404, 'NoSuchKey')
  }
})

inBoth('G1 R104 R112 R113 PutObjectLegalHold: headers, then the object, then the body', async client => {
  const bucket = await lockBucket(client)
  const own: Headers = client.dialect === 'svc' ? [[':legal-hold', 'ON']] : []
  const hold = (headers: Headers, body = '<LegalHold><Status>ON</Status></LegalHold>') =>
    client.send({ method: 'PUT', bucket, path: '/none?legal-hold', headers: [...own, ...headers], body })
  expectFault(await hold([[':sdk-checksum-algorithm', 'x']]), 400, 'InvalidRequest')
  expectFault(await hold([['Content-MD5', 'x']]), 400, 'InvalidDigest')
  for (const headers of [[], [WRONG_MD5]] as const) expectFault(await hold(headers), 404, 'NoSuchKey')
  expectFault(await hold([md5Header('nonsense')], 'nonsense'), 404, 'NoSuchKey')
})

inBoth('G1 R73 R104 R112 UploadPart UploadPartCopy: headers, then the upload, then the body', async client => {
  const bucket = await makeBucket(client)
  const gone = { bucket, path: '/k', id: 'f'.repeat(32) }
  expectFault(await putPart(client, gone, 1, 'x', [['Content-MD5', 'x']]), 400, 'InvalidDigest')
  expectFault(await putPart(client, gone, 1, 'x', [[':checksum-crc32', 'x']]), 400, 'InvalidRequest')
  expectFault(await putPart(client, gone, 1, 'x', [[':sdk-checksum-algorithm', 'CRC32']]), 400, 'InvalidRequest')
  expectFault(await putPart(client, gone, 1, 'x', [WRONG_MD5]), 404, 'NoSuchUpload')
  const source: Headers = [[':copy-source', `${bucket}/none`]]
  expectFault(await putPart(client, gone, 1, '', [...source, [':copy-source-range', 'x']]), 400, 'InvalidArgument')
  const place = await begin(client, bucket)
  expectFault(
    await putPart(client, place, 1, '', [...source, [':copy-source-range', 'bytes=1-0']]),
    400,
    'InvalidArgument',
  )
  expectFault(await putPart(client, place, 1, '', source), 404, 'NoSuchKey')
})

inBoth('G1 R104 R105 PutObjectTagging PutObjectRetention: headers, then the object, then the body', async client => {
  const bucket = await lockBucket(client)
  for (const query of ['tagging', 'retention']) {
    const set = (headers: Headers) =>
      client.send({ method: 'PUT', bucket, path: `/none?${query}`, headers, body: 'nonsense' })
    expectFault(await set([['Content-MD5', 'x']]), 400, 'InvalidDigest')
    for (const headers of [[], [WRONG_MD5], [md5Header('nonsense')]]) {
      expectFault(await set(headers as Headers), 404, 'NoSuchKey')
    }
  }
})

inBoth('G1 R43 R44 R46 CopyObject: headers, then the source, then conditions', async client => {
  const bucket = await makeBucket(client)
  const copy = (...headers: Headers) =>
    client.send({ method: 'PUT', bucket, path: '/to', headers: [[':copy-source', `${bucket}/none`], ...headers] })
  expectFolded(client, await copy([':metadata-directive', 'x']), 'InvalidArgument')
  expectFolded(client, await copy([':acl', 'x']), 'InvalidArgument')
  expectFault(await copy([':checksum-algorithm', 'x']), 400, 'InvalidRequest')
  expectFault(await copy([':copy-source-if-match', '"x"']), 404, 'NoSuchKey')
  expectFault(await copy(['If-Match', '"x"']), 404, 'NoSuchKey')
})

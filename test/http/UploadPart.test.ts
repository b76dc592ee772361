import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  begin,
  beginning,
  childrenAt,
  customerKey,
  detail,
  expectFault,
  finish,
  KEY,
  keyNameHeader,
  namedKeys,
  OTHER_KEY,
  part,
  putPart,
} from './parts.ts'
import { inBoth, makeBucket, OTHER, READER } from './server.ts'

inBoth('R34 R73 UploadPart: a part can be replaced; the last one wins', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const old = await part(client, place, 1, 'old')
  const put = await putPart(client, place, 1, 'new')
  assert.equal(put.headers.get('etag'), `"${createHash('md5').update('new').digest('hex')}"`)
  expectFault(await finish(client, place, [old]), 400, 'InvalidPart')
  assert.equal((await finish(client, place, [{ number: 1, etag: put.headers.get('etag') ?? '' }])).status, 200)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'new')
  expectFault(await putPart(client, place, 1, 'late'), 404, 'NoSuchUpload')
})

inBoth('R36 R73 UploadPart: invalid part numbers and upload ids are refused', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  for (const number of ['0', '10001', '-1', 'x', '', '1.5', '99999999999']) {
    expectFault(await putPart(client, place, number, 'x'), 400, 'InvalidArgument')
  }
  for (const path of ['/k?partNumber=1', `/k?uploadId=${place.id}`]) {
    expectFault(await client.send({ method: 'PUT', bucket, path, body: 'x' }), 400, 'InvalidArgument')
  }
  expectFault(await putPart(client, { ...place, path: '/other' }, 1, 'x'), 404, 'NoSuchUpload')
  expectFault(await putPart(client, { ...place, id: 'x' }, 1, 'x'), 404, 'NoSuchUpload')
  for (const as of [OTHER, READER, null]) {
    const path = `/k?partNumber=1&uploadId=${place.id}`
    assert.equal((await client.send({ method: 'PUT', bucket, path, body: 'x', as })).status, 403)
  }
  assert.equal((await beginning(client, 'no-such-bucket', '/k')).status, 404)
  assert.equal((await putPart(client, place, 10_000, 'x')).status, 200)
})

inBoth('R104 R112 UploadPart: announced checksums and lengths are verified', async client => {
  const bucket = await makeBucket(client)
  const plain = await begin(client, bucket)
  const md5 = createHash('md5').update('hello world').digest('base64')
  expectFault(await putPart(client, plain, 1, 'other', [['Content-MD5', md5]]), 400, 'BadDigest')
  expectFault(await putPart(client, plain, 1, 'other', [['Content-MD5', 'x']]), 400, 'InvalidDigest')
  expectFault(await putPart(client, plain, 1, 'other', [[':checksum-crc32', 'DUoRhQ==']]), 400, 'BadDigest')
  const said = await putPart(client, plain, 1, 'hello world', [[':checksum-crc32', 'DUoRhQ==']])
  assert.equal(said.own('checksum-crc32'), 'DUoRhQ==')
  const declared = await begin(client, bucket, '/d', [[':checksum-algorithm', 'CRC32C']])
  const wrong = await putPart(client, declared, 1, 'hello world', [[':checksum-crc32', 'DUoRhQ==']])
  expectFault(wrong, 400, 'InvalidRequest')
  const whole: Parameters<typeof begin>[3] = [
    [':checksum-algorithm', 'CRC32C'],
    [':checksum-type', 'FULL_OBJECT'],
  ]
  const silent = await putPart(client, await begin(client, bucket, '/w', whole), 1, 'hello world')
  assert.equal(silent.own('checksum-crc32c'), 'yZRlqg==')
  const listed = await client.send({ method: 'GET', bucket, path: `/k?uploadId=${plain.id}` })
  assert(!listed.body.toString().includes('ChecksumCRC32'))
})

inBoth('R25 R86 A74 UploadPart: an upload with a customer key takes parts under that key only', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket, '/k', customerKey(KEY))
  expectFault(await putPart(client, place, 1, 'x'), 400, 'InvalidRequest')
  expectFault(await putPart(client, place, 1, 'x', customerKey(OTHER_KEY)), 400, 'InvalidRequest')
  expectFault(await putPart(client, place, 1, 'x', customerKey(KEY).slice(0, 2)), 400, 'InvalidArgument')
  const put = await putPart(client, place, 1, 'x', customerKey(KEY))
  assert.equal(put.own('server-side-encryption-customer-algorithm'), 'AES256')
  assert.notEqual(put.headers.get('etag'), `"${createHash('md5').update('x').digest('hex')}"`)
  const plain = await begin(client, bucket, '/p')
  expectFault(await putPart(client, plain, 1, 'x', customerKey(KEY)), 400, 'InvalidRequest')
})

inBoth('R87 UploadPart: a part’s encryption headers must match the upload', async client => {
  const bucket = await makeBucket(client)
  await client.send({ method: 'PUT', bucket, path: '/source', body: 'x' })
  const sealed = (algorithm: string): [string, string] => [':server-side-encryption', algorithm]
  for (const [given, said, status] of [
    [[], [sealed('AES256')], 400],
    [[], [sealed(namedKeys(client))], 400],
    [customerKey(KEY), [...customerKey(KEY), sealed('AES256')], 400],
    [[sealed('AES256')], [sealed(namedKeys(client))], 400],
    [[sealed('AES256')], [sealed('AES256')], 200],
    [[sealed(namedKeys(client))], [sealed(namedKeys(client)), [keyNameHeader(client), 'another']], 400],
    [[sealed('AES256')], [], 200],
  ] as const) {
    const place = await begin(client, bucket, '/k', given)
    const path = `/k?partNumber=1&uploadId=${place.id}`
    const copied: [string, string][] = [[':copy-source', `${bucket}/source`]]
    for (const answer of [
      await client.send({ method: 'PUT', bucket, path, headers: said, body: 'x' }),
      await client.send({ method: 'PUT', bucket, path, headers: [...said, ...copied] }),
    ]) {
      assert.equal(answer.status, status, answer.body.toString())
      if (status === 400) assert.equal(answer.code(), 'InvalidRequest')
    }
    const listed = await client.send({ method: 'GET', bucket, path: `/k?uploadId=${place.id}` })
    assert.equal(childrenAt(listed.xml(), 'Part').length, status === 200 ? 1 : 0)
  }
})

inBoth('R80 UploadPart: an upload with composite checksums takes no part without one', async client => {
  const bucket = await makeBucket(client)
  for (const [algorithm, type, status] of [
    ['CRC32', 'COMPOSITE', 400],
    ['SHA256', 'COMPOSITE', 400],
    ['CRC32', 'FULL_OBJECT', 200],
    ['CRC64NVME', 'FULL_OBJECT', 200],
  ] as const) {
    const { summedBy: _, ...place } = await begin(client, bucket, '/k', [
      [':checksum-algorithm', algorithm],
      [':checksum-type', type],
    ])
    const sent = await putPart(client, place, 1, 'hello world')
    assert.equal(sent.status, status, algorithm)
    if (status === 200) continue
    expectFault(sent, 400, 'InvalidRequest')
    const kinds = `expected checksum Type: ${algorithm.toLowerCase()}, actual checksum Type: null`
    assert.equal(detail(sent, 'Message'), `Checksum Type mismatch occurred, ${kinds}`)
    const md5: [string, string] = ['Content-MD5', 'XrY7u+Ae7tCTyyK7j1rNww==']
    expectFault(await putPart(client, place, 1, 'hello world', [md5]), 400, 'InvalidRequest')
  }
})

inBoth('R112 UploadPart: the upload’s checksum algorithm applies, in svc also an announced one', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket, '/k', [[':checksum-algorithm', 'CRC32']])
  const sent = await putPart(client, place, 1, 'hello world', [
    [':sdk-checksum-algorithm', 'SHA1'],
    [':checksum-crc32', 'DUoRhQ=='],
  ])
  if (client.dialect === 's3') assert.equal(sent.status, 200)
  else expectFault(sent, 400, 'InvalidRequest')
})

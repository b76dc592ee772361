import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  begin,
  customerKey,
  detail,
  expectFault,
  expectFolded,
  finish,
  KEY,
  MIB5,
  part,
  putPart,
  textAt,
} from './parts.ts'
import { inBoth, makeBucket, OTHER, READER } from './server.ts'

const FIVES = ['A', 'B', 'C'].map(letter => Buffer.alloc(MIB5, letter))

inBoth('R16 R35 R88 R90 CompleteMultipartUpload: parts become one object', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket, '/a/%C3%BC%20b', [
    ['Content-Type', 'text/plain'],
    [':meta-colour', 'blue'],
    [':tagging', 'a=b'],
    ['Cache-Control', 'no-store'],
  ])
  const parts = []
  for (const number of [3, 1, 2]) parts.push(await part(client, place, number * 2, FIVES[number - 1]!))
  parts.sort((a, b) => a.number - b.number)
  assert.equal((await client.send({ method: 'GET', bucket, path: place.path })).status, 404)
  const done = await finish(client, place, parts)
  assert.equal(done.status, 200, done.body.toString())
  assert.equal(done.xml().name, 'CompleteMultipartUploadResult')
  assert.equal(textAt(done.xml(), 'ETag'), '"b2add96cc9702bbf4efb0ccdfc6b7747-3"')
  assert.equal(textAt(done.xml(), 'Bucket'), bucket)
  assert.equal(textAt(done.xml(), 'Key'), 'a/ü b')
  assert.match(textAt(done.xml(), 'Location'), new RegExp(`^http://${bucket}\\.hf\\.example/a/%C3%BC%20b$`))
  const got = await client.send({ method: 'GET', bucket, path: place.path })
  assert(got.body.equals(Buffer.concat(FIVES)))
  assert.equal(got.headers.get('content-type'), 'text/plain')
  assert.equal(got.headers.get('cache-control'), 'no-store')
  assert.equal(got.own('meta-colour'), 'blue')
  assert.equal(got.own('tagging-count'), '1')
  const listed = await client.send({ method: 'GET', bucket, path: '/?uploads' })
  assert.equal(listed.xml().children.filter(child => child.name === 'Upload').length, 0)
})

inBoth(
  'R74 R91 A68 CompleteMultipartUpload: unknown upload, wrong key and missing permission are refused',
  async client => {
    const bucket = await makeBucket(client)
    const place = await begin(client, bucket)
    const one = await part(client, place, 1, 'x')
    for (const other of [
      { ...place, path: '/other' },
      { ...place, id: '0'.repeat(32) },
      { ...place, id: 'not-an-id' },
    ]) {
      const answer = await finish(client, other, [one])
      expectFault(answer, 404, 'NoSuchUpload')
      assert.equal(detail(answer, 'UploadId'), other.id)
    }
    expectFault(await client.send({ method: 'POST', bucket, path: '/k', body: 'x' }), 400, 'InvalidRequest')
    for (const as of [OTHER, READER, null]) {
      const path = `/k?uploadId=${place.id}`
      assert.equal((await client.send({ method: 'POST', bucket, path, body: 'x', as })).status, 403)
    }
    const wrongOwner: [string, string] = [':expected-bucket-owner', OTHER.accountId]
    expectFault(await finish(client, place, [one], [wrongOwner]), 403, 'AccessDenied')
    assert.equal((await finish(client, place, [one])).status, 200)
  },
)

inBoth('R75–R78 R81 A68 CompleteMultipartUpload: an invalid part list leaves the upload unchanged', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const one = await part(client, place, 1, 'small')
  const two = await part(client, place, 2, 'last')
  for (const [body, code] of [
    ['', 'InvalidRequest'],
    ['<CompleteMultipartUpload/>', 'InvalidRequest'],
    ['not xml', 'MalformedXML'],
    ['<Complete/>', 'MalformedXML'],
    ['<CompleteMultipartUpload><Part><PartNumber>1</PartNumber></Part></CompleteMultipartUpload>', 'MalformedXML'],
    ['<CompleteMultipartUpload><Part><ETag>x</ETag></Part></CompleteMultipartUpload>', 'MalformedXML'],
    [
      '<CompleteMultipartUpload><Part><PartNumber>x</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>',
      'MalformedXML',
    ],
  ] as const) {
    expectFault(await finish(client, place, body), 400, code)
  }
  expectFault(await finish(client, place, [two, one]), 400, 'InvalidPartOrder')
  expectFault(await finish(client, place, [one, one]), 400, 'InvalidPartOrder')
  for (const number of [0, 10_001, -1, 10 ** 20]) {
    expectFolded(client, await finish(client, place, [{ ...one, number }]), 'InvalidArgument')
  }
  const missing = await finish(client, place, [{ ...one, number: 7 }])
  expectFault(missing, 400, 'InvalidPart')
  assert.equal(detail(missing, 'PartNumber'), '7')
  assert.equal(detail(missing, 'UploadId'), place.id)
  expectFault(await finish(client, place, [{ number: 1, etag: two.etag }]), 400, 'InvalidPart')
  const small = await finish(client, place, [one, two])
  expectFault(small, 400, 'EntityTooSmall')
  for (const [name, value] of [
    ['PartNumber', '1'],
    ['ProposedSize', '5'],
    ['MinSizeAllowed', '5242880'],
  ] as const) {
    assert.equal(detail(small, name), value)
  }
  // ETags match with and without quotes, in any namespace.
  const inner = `<Part><PartNumber>2</PartNumber><ETag>${two.etag.slice(1, -1)}</ETag></Part>`
  const bare = `<CompleteMultipartUpload xmlns="urn:x">${inner}</CompleteMultipartUpload>`
  assert.equal((await finish(client, place, bare)).status, 200)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'last')
})

inBoth('R81 CompleteMultipartUpload: a single part of 0 bytes is an object', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  assert.equal((await finish(client, place, [await part(client, place, 1, '')])).status, 200)
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).headers.get('content-length'), '0')
})

inBoth('R19 R80 R83 CompleteMultipartUpload: composite and full checksums', async client => {
  const bucket = await makeBucket(client)
  const sums = ['JRTCyQ==', 'QoZTGg==', 'YAgjqw==']
  const filled = async (type: string) => {
    const place = await begin(client, bucket, '/k', [
      [':checksum-algorithm', 'CRC32'],
      [':checksum-type', type],
    ])
    const parts = []
    for (const [index, five] of FIVES.entries()) {
      const put = await putPart(client, place, index + 1, five)
      assert.equal(put.own('checksum-crc32'), sums[index])
      const more = `<ChecksumCRC32>${sums[index]}</ChecksumCRC32>`
      parts.push({ number: index + 1, etag: put.headers.get('etag') ?? '', more })
    }
    return { place, parts }
  }
  const composite = await filled('COMPOSITE')
  const bare = composite.parts.map(listed => ({ ...listed, more: '' }))
  expectFault(await finish(client, composite.place, bare), 400, 'InvalidRequest')
  const wrong = composite.parts.map(listed => ({ ...listed, more: '<ChecksumCRC32>AAAAAA==</ChecksumCRC32>' }))
  expectFault(await finish(client, composite.place, wrong), 400, 'InvalidPart')
  const claim = (value: string): [string, string][] => [[':checksum-crc32', value]]
  expectFault(await finish(client, composite.place, composite.parts, claim('Z+ry2Q==-2')), 400, 'BadDigest')
  expectFault(await finish(client, composite.place, composite.parts, claim('nonsense')), 400, 'InvalidRequest')
  const done = await finish(client, composite.place, composite.parts, claim('Z+ry2Q==-3'))
  assert.equal(done.status, 200, done.body.toString())
  assert.equal(textAt(done.xml(), 'ChecksumCRC32'), 'Z+ry2Q==-3')
  assert.equal(textAt(done.xml(), 'ChecksumType'), 'COMPOSITE')
  const full = await filled('FULL_OBJECT')
  const plain = full.parts.map(listed => ({ ...listed, more: '' }))
  expectFault(await finish(client, full.place, plain, claim('AAAAAA==')), 400, 'BadDigest')
  const whole = await finish(client, full.place, plain, claim('WgDhBQ=='))
  assert.equal(textAt(whole.xml(), 'ChecksumCRC32'), 'WgDhBQ==')
  assert.equal(textAt(whole.xml(), 'ChecksumType'), 'FULL_OBJECT')
})

inBoth('R82 R83 D5 CompleteMultipartUpload: a checksum type or value given only on completion', async client => {
  const bucket = await makeBucket(client)
  const declared = await begin(client, bucket, '/k', [[':checksum-algorithm', 'CRC32']])
  const put = await putPart(client, declared, 1, 'hello world')
  const more = `<ChecksumCRC32>${put.own('checksum-crc32')}</ChecksumCRC32>`
  const list = [{ number: 1, etag: put.headers.get('etag') ?? '', more }]
  const other: [string, string] = [':checksum-type', 'FULL_OBJECT']
  expectFault(
    await finish(client, declared, list, [other]),
    400,
    client.dialect === 'svc' ? 'BadDigest' : 'InvalidRequest',
  )
  const silent = await begin(client, bucket, '/silent')
  const one = await part(client, silent, 1, 'hello world')
  const late = await finish(client, silent, [one], [other, [':checksum-sha256', 'A'.repeat(43)]])
  expectFault(late, 400, 'InvalidRequest')
  const digest = createHash('sha256').update('hello world').digest('base64')
  const wrong = createHash('sha256').update('other').digest('base64')
  expectFault(await finish(client, silent, [one], [[':checksum-sha256', wrong]]), 400, 'BadDigest')
  if (client.dialect === 's3') {
    expectFault(await finish(client, silent, [one], [other, [':checksum-sha256', digest]]), 400, 'InvalidRequest')
    return
  }
  const done = await finish(client, silent, [one], [other, [':checksum-sha256', digest]])
  assert.equal(textAt(done.xml(), 'ChecksumSHA256'), digest)
  assert.equal(textAt(done.xml(), 'ChecksumType'), 'FULL_OBJECT')
})

inBoth('R79 R82 D5 D12 CompleteMultipartUpload: checksums sent with every part must match', async client => {
  const bucket = await makeBucket(client)
  const sums = ['JRTCyQ==', 'QoZTGg==', 'YAgjqw==']
  const filled = async (path: string) => {
    const place = await begin(client, bucket, path)
    const parts = []
    for (const [index, five] of FIVES.entries()) {
      const sum: [string, string] = [':checksum-crc32', sums[index]!]
      const listed = await part(client, place, index + 1, five, [sum])
      parts.push({ ...listed, more: `<ChecksumCRC32>${sum[1]}</ChecksumCRC32>` })
    }
    return { place, parts }
  }
  const { place, parts } = await filled('/k')
  const swapped = parts.map((listed, index) => ({ ...listed, more: parts[2 - index]!.more }))
  expectFault(await finish(client, place, swapped), 400, 'BadDigest')
  const composite: [string, string] = [':checksum-type', 'COMPOSITE']
  const claim: [string, string] = [':checksum-crc32', 'Z+ry2Q==-3']
  if (client.dialect === 's3') expectFault(await finish(client, place, parts, [composite]), 400, 'InvalidRequest')
  const sent = client.dialect === 'svc' ? [composite, claim] : [claim]
  const done = await finish(client, place, parts, sent)
  assert.equal(done.status, 200, done.body.toString())
  assert.equal(textAt(done.xml(), 'ChecksumCRC32'), 'Z+ry2Q==-3')
  assert.equal(textAt(done.xml(), 'ChecksumType'), 'COMPOSITE')
  const second = await filled('/silent')
  const silent = await finish(client, second.place, second.parts)
  assert.equal(silent.status, 200)
  assert.equal(textAt(silent.xml(), 'ChecksumType'), '')
  const head = { method: 'HEAD', bucket, headers: [[':checksum-mode', 'ENABLED']] as const }
  assert.equal((await client.send({ ...head, path: '/silent?partNumber=2' })).own('checksum-crc32'), undefined)
  assert.equal((await client.send({ ...head, path: '/k?partNumber=2' })).own('checksum-crc32'), sums[1])
})

inBoth('R85 CompleteMultipartUpload: a wrong expected size is refused', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const one = await part(client, place, 1, 'four')
  for (const size of ['5', '-4', 'x', '']) {
    expectFault(await finish(client, place, [one], [[':mp-object-size', size]]), 400, 'InvalidRequest')
  }
  assert.equal((await finish(client, place, [one], [[':mp-object-size', '4']])).status, 200)
})

inBoth('R92–R94 D1 D2 CompleteMultipartUpload: a failed precondition leaves the upload open', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const one = await part(client, place, 1, 'new')
  const nothing = await finish(client, place, [one], [['If-Match', '*']])
  if (client.dialect === 'svc') expectFault(nothing, 412, 'PreconditionFailed')
  else expectFault(nothing, 404, 'NoSuchKey')
  const old = await client.send({ method: 'PUT', bucket, path: '/k', body: 'old' })
  const tag = old.headers.get('etag') ?? ''
  for (const value of ['*', tag]) {
    const hit = await finish(client, place, [one], [['If-None-Match', value]])
    assert.equal(hit.status, client.dialect === 'svc' ? 304 : 412)
    if (client.dialect === 'svc') {
      assert.equal(hit.headers.get('etag'), tag)
      assert.equal(hit.body.length, 0)
    }
  }
  expectFault(await finish(client, place, [one], [['If-Match', '"no"']]), 412, 'PreconditionFailed')
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'old')
  const both: [string, string][] = [
    ['If-Match', tag],
    ['If-None-Match', '"no"'],
  ]
  assert.equal((await finish(client, place, [one], both)).status, 200)
})

inBoth('R96 R97 D15 CompleteMultipartUpload: repeated and concurrent completion makes one version', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const one = await part(client, place, 1, 'x')
  const answers = await Promise.all([1, 2, 3].map(() => finish(client, place, [one])))
  const expected = createHash('md5').update(createHash('md5').update('x').digest()).digest('hex')
  const won = answers.filter(answer => answer.status === 200)
  const versions = await client.send({ method: 'GET', bucket, path: '/?versions' })
  assert.equal(versions.xml().children.filter(child => child.name === 'Version').length, 1)
  const again = await finish(client, place, [one])
  const other = await finish(client, place, [{ ...one, number: 2 }])
  if (client.dialect === 'svc') {
    assert.equal(won.length, 1)
    for (const answer of [again, other]) {
      expectFault(answer, 404, 'NoSuchUpload')
      assert.equal(detail(answer, 'UploadState'), 'completed')
      assert.equal(detail(answer, 'ETag'), `"${expected}-1"`)
    }
  } else {
    assert.equal(won.length, 3)
    assert.equal(textAt(again.xml(), 'ETag'), `"${expected}-1"`)
    expectFault(other, 404, 'NoSuchUpload')
  }
  await client.send({ method: 'DELETE', bucket, path: '/k' })
  expectFault(await finish(client, place, [one]), 404, 'NoSuchUpload')
})

inBoth('R86 R87 D22 A74 CompleteMultipartUpload: customer keys and encryption must match the upload', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket, '/k', [...customerKey(KEY), [':checksum-algorithm', 'CRC64NVME']])
  const one = await part(client, place, 1, 'secret', customerKey(KEY))
  expectFault(await finish(client, place, [one], customerKey(Buffer.alloc(32))), 400, 'InvalidRequest')
  const without = await finish(client, place, [one])
  if (client.dialect === 'svc') expectFault(without, 400, 'InvalidRequest')
  else assert.equal(without.status, 200)
  if (client.dialect === 'svc') assert.equal((await finish(client, place, [one], customerKey(KEY))).status, 200)
  const got = await client.send({ method: 'GET', bucket, path: '/k', headers: customerKey(KEY) })
  assert.equal(got.body.toString(), 'secret')
  const sealed = await begin(client, bucket, '/sealed', [[':server-side-encryption', 'AES256']])
  const listed = await part(client, sealed, 1, 'x')
  const asNamed: [string, string] = [':server-side-encryption', client.dialect === 'svc' ? 'verenc' : 'aws:kms']
  expectFault(await finish(client, sealed, [listed], [asNamed]), 400, 'InvalidRequest')
  expectFault(await finish(client, sealed, [listed], customerKey(KEY)), 400, 'InvalidRequest')
  const done = await finish(client, sealed, [listed], [[':server-side-encryption', 'AES256']])
  assert.equal(done.own('server-side-encryption'), 'AES256')
})

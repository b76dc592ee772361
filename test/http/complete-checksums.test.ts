/** R19, R20, R79–R83, 4.4. Every algorithm and type of checksum for uploads, with the vectors of the specification. */
import assert from 'node:assert/strict'
import { type ChecksumAlgorithm, digestOf } from '../../src/rules/checksum.ts'
import { inEither } from './long.ts'
import { begin, expectFault, expectFolded, finish, type Listed, MIB5, type Place, putPart, textAt } from './parts.ts'
import { type Client, inBoth, makeBucket } from './server.ts'

const FIVES = ['A', 'B', 'C'].map(letter => Buffer.alloc(MIB5, letter))
const ETAG = '"b2add96cc9702bbf4efb0ccdfc6b7747-3"'

interface Vector {
  readonly algorithm: ChecksumAlgorithm
  readonly type: 'COMPOSITE' | 'FULL_OBJECT'
  readonly value: string
  /** The default type of the algorithm. */
  readonly isDefault?: true
}

const VECTORS: readonly Vector[] = [
  { algorithm: 'CRC32', type: 'COMPOSITE', value: 'Z+ry2Q==-3', isDefault: true },
  { algorithm: 'CRC32C', type: 'COMPOSITE', value: 'g9DPqQ==-3', isDefault: true },
  { algorithm: 'SHA1', type: 'COMPOSITE', value: 'sizjvY4eud3MrcHdZM3cQ/ol39o=-3', isDefault: true },
  { algorithm: 'SHA256', type: 'COMPOSITE', value: 'uWBwpe1dxI4Vw8Gf0X9ynOdw/SS6VBzfWm9giiv1sf4=-3', isDefault: true },
  { algorithm: 'CRC32', type: 'FULL_OBJECT', value: 'WgDhBQ==' },
  { algorithm: 'CRC32C', type: 'FULL_OBJECT', value: 'xU+Krw==' },
  { algorithm: 'CRC64NVME', type: 'FULL_OBJECT', value: 'i+6LR0y3eFo=', isDefault: true },
]

const PART_SUMS: Partial<Record<ChecksumAlgorithm, readonly string[]>> = {
  CRC32: ['JRTCyQ==', 'QoZTGg==', 'YAgjqw=='],
  CRC32C: ['MDaLrw==', 'TH4EZg==', 'Z7mBIQ=='],
  CRC64NVME: ['L/E4WYn8v98=', 'xW1l19VobYM=', 'cK5MnNaWrW4='],
}

const sumsOf = (algorithm: ChecksumAlgorithm): readonly string[] =>
  PART_SUMS[algorithm] ?? FIVES.map(five => digestOf(algorithm, five).toString('base64'))

const header = (algorithm: ChecksumAlgorithm): string => `:checksum-${algorithm.toLowerCase()}`
const element = (algorithm: ChecksumAlgorithm, value: string): string =>
  `<Checksum${algorithm}>${value}</Checksum${algorithm}>`

/** Three parts, whose checksums in the responses match the vectors. */
async function filled(client: Client, place: Place, algorithm: ChecksumAlgorithm): Promise<Listed[]> {
  const listed: Listed[] = []
  for (const [index, five] of FIVES.entries()) {
    const put = await putPart(client, place, index + 1, five)
    const sum = put.own(header(algorithm).slice(1)) ?? ''
    assert.equal(sum, sumsOf(algorithm)[index])
    listed.push({ number: index + 1, etag: put.headers.get('etag') ?? '', more: element(algorithm, sum) })
  }
  return listed
}

for (const { algorithm, type, value, isDefault } of VECTORS) {
  inEither(`R19 R20 R80 R83 CompleteMultipartUpload: ${algorithm}, ${type}`, async client => {
    const bucket = await makeBucket(client)
    const asked: [string, string][] = [[':checksum-algorithm', algorithm]]
    if (isDefault !== true) asked.push([':checksum-type', type])
    const place = await begin(client, bucket, '/k', asked)
    const parts = await filled(client, place, algorithm)
    const claim = (sent: string): [string, string][] => [[header(algorithm), sent]]
    const wrong = digestOf(algorithm, Buffer.from('wrong')).toString('base64')
    expectFault(await finish(client, place, parts, claim(wrong)), 400, 'BadDigest')
    expectFault(await finish(client, place, parts, claim(`${value.replace(/-3$/, '')}-2`)), 400, 'BadDigest')
    expectFault(await finish(client, place, parts, claim('AAAA')), 400, 'InvalidRequest')
    const swapped = parts.map(({ number, etag }, index) => ({ number, etag, more: parts[2 - index]!.more ?? '' }))
    expectFault(await finish(client, place, swapped), 400, 'InvalidPart')
    const bare = parts.map(({ number, etag }) => ({ number, etag }))
    // R80. Only composite checksums need those of all parts.
    if (type === 'COMPOSITE') expectFault(await finish(client, place, bare), 400, 'InvalidRequest')
    const listed = type === 'COMPOSITE' ? parts : bare
    const done = await finish(client, place, listed, [...claim(value), [':checksum-type', type]])
    assert.equal(done.status, 200, done.body.toString())
    assert.equal(textAt(done.xml(), 'ETag'), ETAG)
    assert.equal(textAt(done.xml(), `Checksum${algorithm}`), value)
    assert.equal(textAt(done.xml(), 'ChecksumType'), type)
    const head = { method: 'HEAD', bucket, path: '/k', headers: [[':checksum-mode', 'ENABLED']] as const }
    const said = await client.send(head)
    assert.equal(said.own(header(algorithm).slice(1)), value)
    assert.equal(said.own('checksum-type'), type)
    assert.equal((await client.send({ ...head, headers: [] })).own('checksum-type'), undefined)
    // 2.2, 4.2. A read by part number returns the part's own checksum.
    const part = await client.send({ ...head, path: '/k?partNumber=2' })
    assert.equal(part.own(header(algorithm).slice(1)), sumsOf(algorithm)[1])
    assert.equal(part.own('checksum-type'), type)
    assert.equal((await client.send({ ...head, path: '/k?partNumber=2', headers: [] })).own('checksum-type'), undefined)
  })
}

const SEALED: readonly [string, string][] = [[':server-side-encryption', 'AES256']]

for (const [how, headers] of [
  ['shares its bytes', []],
  ['moves them', SEALED],
] as const) {
  inEither(`R52 R90 GetObject: parts of a copy that ${how} have checksums by its algorithm or none`, async client => {
    const bucket = await makeBucket(client)
    const declared: [string, string][] = [
      [':checksum-algorithm', 'CRC32'],
      [':checksum-type', 'FULL_OBJECT'],
    ]
    const place = await begin(client, bucket, '/k', declared)
    const done = await finish(client, place, await filled(client, place, 'CRC32'))
    assert.equal(done.status, 200, done.body.toString())
    const copy = async (to: string, from: string, more: readonly [string, string][]): Promise<void> => {
      const source: [string, string] = [':copy-source', `/${bucket}${from}`]
      const sent = { method: 'PUT', bucket, path: to, headers: [source, ...headers, ...more] }
      assert.equal((await client.send(sent)).status, 200)
    }
    const second = async (path: string): Promise<(string | undefined)[]> => {
      const asked = {
        method: 'GET',
        bucket,
        path: `${path}?partNumber=2`,
        headers: [[':checksum-mode', 'ENABLED']] as const,
      }
      const got = await client.send(asked)
      return ['checksum-crc32', 'checksum-crc32c', 'checksum-type'].map(name => got.own(name))
    }
    await copy('/same', '/k', [])
    assert.deepEqual(await second('/same'), ['QoZTGg==', undefined, 'FULL_OBJECT'])
    await copy('/other', '/k', [[':checksum-algorithm', 'CRC32C']])
    assert.deepEqual(await second('/other'), [undefined, undefined, undefined])
    await copy('/back', '/other', [[':checksum-algorithm', 'CRC32']])
    assert.deepEqual(await second('/back'), ['QoZTGg==', undefined, 'FULL_OBJECT'])
  })
}

inEither('R83 CompleteMultipartUpload: a composite value may come without its count', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket, '/k', [[':checksum-algorithm', 'CRC32C']])
  const parts = await filled(client, place, 'CRC32C')
  const done = await finish(client, place, parts, [[':checksum-crc32c', 'g9DPqQ==']])
  assert.equal(textAt(done.xml(), 'ChecksumCRC32C'), 'g9DPqQ==-3')
})

inEither('R79 R83 CompleteMultipartUpload: two checksums, bad base64, another algorithm', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket, '/k', [
    [':checksum-algorithm', 'CRC32'],
    [':checksum-type', 'FULL_OBJECT'],
  ])
  const put = await putPart(client, place, 1, 'hello world')
  const one = (more: string): Listed[] => [{ number: 1, etag: put.headers.get('etag') ?? '', more }]
  const two: [string, string][] = [
    [':checksum-crc32', 'DUoRhQ=='],
    [':checksum-crc32c', 'yZRlqg=='],
  ]
  expectFault(await finish(client, place, one(''), two), 400, 'InvalidRequest')
  const doubled = element('CRC32', 'DUoRhQ==') + element('CRC32C', 'yZRlqg==')
  expectFolded(client, await finish(client, place, one(doubled)), 'InvalidArgument')
  expectFolded(client, await finish(client, place, one(element('CRC32', 'nonsense'))), 'InvalidArgument')
  expectFault(await finish(client, place, one(element('CRC32', 'AAAAAA=='))), 400, 'InvalidPart')
  const other = await finish(client, place, one(element('CRC32C', 'yZRlqg==')))
  expectFault(other, 400, 'BadDigest')
  assert.match(textAt(other.xml(), 'Message'), /for part 1/)
  assert.equal((await finish(client, place, one(element('CRC32', 'DUoRhQ==')))).status, 200)
})

inEither('R83 CompleteMultipartUpload: what the parts cannot tell is read', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const listed: Listed[] = []
  for (const [index, five] of FIVES.entries()) {
    listed.push({ number: index + 1, etag: (await putPart(client, place, index + 1, five)).headers.get('etag') ?? '' })
  }
  const sha = digestOf('SHA256', Buffer.concat(FIVES)).toString('base64')
  const wrong = digestOf('SHA256', FIVES[0]!).toString('base64')
  expectFault(await finish(client, place, listed, [[':checksum-sha256', wrong]]), 400, 'BadDigest')
  const done = await finish(client, place, listed, [[':checksum-sha256', sha]])
  assert.equal(textAt(done.xml(), 'ChecksumSHA256'), sha)
  assert.equal(textAt(done.xml(), 'ChecksumType'), 'FULL_OBJECT')
})

inBoth('R69 R82 D5 CompleteMultipartUpload: the checksum type is the one given at creation', async client => {
  const bucket = await makeBucket(client)
  const code = client.dialect === 'svc' ? 'BadDigest' : 'InvalidRequest'
  for (const [algorithm, type, other] of [
    ['CRC32', 'COMPOSITE', 'FULL_OBJECT'],
    ['CRC32', 'FULL_OBJECT', 'COMPOSITE'],
    ['CRC64NVME', 'FULL_OBJECT', 'COMPOSITE'],
    ['SHA256', 'COMPOSITE', 'FULL_OBJECT'],
  ] as const) {
    const place = await begin(client, bucket, '/k', [
      [':checksum-algorithm', algorithm],
      [':checksum-type', type],
    ])
    const put = await putPart(client, place, 1, 'hello world')
    const more = element(algorithm, put.own(header(algorithm).slice(1)) ?? '')
    const parts = [{ number: 1, etag: put.headers.get('etag') ?? '', more }]
    expectFault(await finish(client, place, parts, [[':checksum-type', other]]), 400, code)
    expectFault(await finish(client, place, parts, [[':checksum-type', 'PARTIAL']]), 400, 'InvalidRequest')
    assert.equal((await finish(client, place, parts, [[':checksum-type', type]])).status, 200)
  }
})

inEither('R16 CompleteMultipartUpload: the tag is made of binary digests, and so is every checksum', async client => {
  const bucket = await makeBucket(client)
  const bodies = [Buffer.alloc(MIB5 + 1, 'a'), Buffer.alloc(MIB5 + 1, 'a'), Buffer.alloc(10, 'a')]
  const place = await begin(client, bucket, '/k', [[':checksum-algorithm', 'SHA1']])
  const listed: Listed[] = []
  for (const [index, body] of bodies.entries()) {
    const put = await putPart(client, place, index + 1, body)
    const more = element('SHA1', put.own('checksum-sha1') ?? '')
    listed.push({ number: index + 1, etag: put.headers.get('etag') ?? '', more })
  }
  const done = await finish(client, place, listed)
  assert.equal(textAt(done.xml(), 'ETag'), '"4d45984fc3feb2ac9b22683c49674b56-3"')
  assert.equal(textAt(done.xml(), 'ChecksumSHA1'), 'AyE60nyQoBgJcwsyPHWu7aJuxBs=-3')
  const single = await begin(client, bucket, '/one', [[':checksum-algorithm', 'CRC64NVME']])
  const put = await putPart(client, single, 1, 'aaa')
  const one = await finish(client, single, [{ number: 1, etag: put.headers.get('etag') ?? '' }])
  assert.equal(textAt(one.xml(), 'ETag'), '"e2c3da976e66ec9e7dc128fbc782fc91-1"')
  assert.equal(textAt(one.xml(), 'ChecksumCRC64NVME'), 'Rnr2/5P7Gsk=')
})

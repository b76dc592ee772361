import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Fault } from '../model/faults.ts'
import {
  CHECKSUM_ALGORITHMS,
  checkContentMd5,
  checkExpectedChecksum,
  checksumAlgorithm,
  decodeContentMd5,
  decodeDigest,
  digestOf,
  parseExpectedChecksum,
  startHasher,
  uploadChecksum,
  wholeChecksum,
} from './checksum.ts'

const fault = (run: () => unknown): Fault => {
  try {
    run()
  } catch (error) {
    assert(error instanceof Fault, String(error))
    return error
  }
  assert.fail('no fault')
}

const VECTORS: readonly (readonly [input: string, values: readonly string[]])[] = [
  [
    '123456789',
    [
      'y/Q5Jg==',
      '4waSgw==',
      'rosUhgp5mIg=',
      '98O8HYCOBHMq32eZZczDTKeuNEE=',
      'FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=',
    ],
  ],
  [
    '',
    [
      'AAAAAA==',
      'AAAAAA==',
      'AAAAAAAAAAA=',
      '2jmj7l5rSw0yVb/vlWAYkK/YBwk=',
      '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
    ],
  ],
  [
    'hello world',
    [
      'DUoRhQ==',
      'yZRlqg==',
      'jSnVw/bqjr4=',
      'Kq5sNclPz7QV2+lfQIuc6R7oRu0=',
      'uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=',
    ],
  ],
]

test('R19 G18: the five algorithms, whole and byte by byte', () => {
  for (const [input, values] of VECTORS) {
    for (const [index, algorithm] of CHECKSUM_ALGORITHMS.entries()) {
      assert.equal(digestOf(algorithm, Buffer.from(input)).toString('base64'), values[index], `${algorithm} ${input}`)
      const hasher = startHasher(algorithm)
      for (const byte of Buffer.from(input)) hasher.update(Buffer.of(byte))
      assert.equal(hasher.digest().toString('base64'), values[index])
    }
  }
})

test('G18: bodies of a legal hold', () => {
  const rows = [
    ['ON', 'oK1+ndJbG6HuGA87LDxznw==', '29C9+g==', 'ssrvQykTLlw='],
    ['OFF', 'An8G3mv4SfhAibzslQjGDw==', 'elsCJw==', 'gSIPeW/c/zw='],
  ] as const
  for (const [status, md5, crc32, crc64] of rows) {
    const body = Buffer.from(`<LegalHold><Status>${status}</Status></LegalHold>`)
    checkContentMd5(decodeContentMd5(md5), createHash('md5').update(body).digest())
    checkExpectedChecksum(parseExpectedChecksum([['crc32', crc32]], false)!, digestOf('CRC32', body))
    checkExpectedChecksum(parseExpectedChecksum([['CRC64NVME', crc64]], false)!, digestOf('CRC64NVME', body))
  }
})

test('R51 R69: names of algorithms', () => {
  assert.equal(checksumAlgorithm('crc64nvme'), 'CRC64NVME')
  assert.equal(checksumAlgorithm('SHA256'), 'SHA256')
  for (const name of ['', 'MD5', 'SHA512', 'XXHASH64', '__proto__', 'constructor', 'CRC32 ']) {
    const { code, detail } = fault(() => checksumAlgorithm(name))
    assert.equal(code, 'InvalidRequest')
    assert.match(String(detail.reason), /unsupported.*\[CRC32, CRC32C, CRC64NVME, SHA1, SHA256\]$/)
  }
})

test('R19 R83: values are canonical base64 of the right length', () => {
  assert.deepEqual(decodeDigest('CRC32', 'DUoRhQ=='), Buffer.from('0d4a1185', 'hex'))
  for (const value of [
    '',
    'DUoRhQ',
    'DUoRhQ=',
    'DUoRhR==',
    'DUoR_Q==',
    'DU oRhQ==',
    'AAAAAAAAAAA=',
    'not base64',
    '====',
  ]) {
    assert.equal(decodeDigest('CRC32', value), undefined, value)
    const { code, detail } = fault(() => parseExpectedChecksum([['crc32', value]], false))
    assert.equal(code, 'InvalidRequest')
    assert.equal(detail.reason, 'Value for x-svc-checksum-crc32 header is invalid.')
  }
  for (const [index, algorithm] of CHECKSUM_ALGORITHMS.entries()) {
    for (const [other, value] of VECTORS[0]![1].entries()) {
      const fits = index === other || (index < 2 && other < 2)
      assert.equal(decodeDigest(algorithm, value) !== undefined, fits, `${algorithm} ${value}`)
    }
  }
})

test('R83: one checksum, counted only for objects in parts', () => {
  assert.equal(parseExpectedChecksum([], true), undefined)
  assert.equal(parseExpectedChecksum([['sha1', '9oeo+kMlG3hL6irRRMB+8GuSWwc=-2']], true)?.parts, 2)
  assert.equal(parseExpectedChecksum([['sha1', '9oeo+kMlG3hL6irRRMB+8GuSWwc=']], true)?.parts, undefined)
  const two = [
    ['crc32', 'DUoRhQ=='],
    ['sha1', 'x'],
  ] as const
  assert.equal(fault(() => parseExpectedChecksum(two, false)).code, 'InvalidRequest')
  for (const value of ['DUoRhQ==-2', 'DUoRhQ==-']) {
    assert.equal(fault(() => parseExpectedChecksum([['crc32', value]], false)).code, 'InvalidRequest')
  }
  for (const value of ['DUoRhQ==-', 'DUoRhQ==-0', 'DUoRhQ==-x', 'DUoRhQ==-100000', '-1']) {
    assert.equal(fault(() => parseExpectedChecksum([['crc32', value]], true)).code, 'InvalidRequest', value)
  }
})

test('R83 R112: a wrong checksum is BadDigest', () => {
  const claim = parseExpectedChecksum([['crc32', 'DUoRhQ==']], false)!
  checkExpectedChecksum(claim, digestOf('CRC32', Buffer.from('hello world')))
  const { code, detail } = fault(() => checkExpectedChecksum(claim, digestOf('CRC32', Buffer.from('hello World'))))
  assert.equal(code, 'BadDigest')
  assert.equal(detail.reason, 'The CRC32 you specified did not match the calculated checksum.')
  assert.deepEqual(wholeChecksum('CRC32', claim.digest), { algorithm: 'CRC32', type: 'FULL_OBJECT', value: 'DUoRhQ==' })
})

test('R104 A15: Content-MD5', () => {
  const empty = createHash('md5').digest()
  checkContentMd5(decodeContentMd5('1B2M2Y8AsgTpgAmY7PhCfg=='), empty)
  for (const value of ['', 'x', '1B2M2Y8AsgTpgAmY7PhCfg', 'd41d8cd98f00b204e9800998ecf8427e', 'AAAA']) {
    const { code, detail } = fault(() => decodeContentMd5(value))
    assert.deepEqual([code, detail['Content-MD5']], ['InvalidDigest', value])
  }
  const { code, detail } = fault(() => checkContentMd5(decodeContentMd5('XrY7u+Ae7tCTyyK7j1rNww=='), empty))
  assert.equal(code, 'BadDigest')
  assert.equal(detail.ExpectedDigest, '5eb63bbbe01eeed093cb22bb8f5acdc3')
  assert.equal(detail.CalculatedDigest, '1B2M2Y8AsgTpgAmY7PhCfg==')
})

test('R69 R20: an upload accepts the valid pairs of checksum algorithm and type', () => {
  assert.equal(uploadChecksum(undefined, undefined), undefined)
  const rows: readonly (readonly [string, composite: boolean, full: boolean, byDefault: string])[] = [
    ['CRC32', true, true, 'COMPOSITE'],
    ['CRC32C', true, true, 'COMPOSITE'],
    ['CRC64NVME', false, true, 'FULL_OBJECT'],
    ['SHA1', true, false, 'COMPOSITE'],
    ['SHA256', true, false, 'COMPOSITE'],
  ]
  for (const [algorithm, composite, full, byDefault] of rows) {
    assert.deepEqual(uploadChecksum(algorithm, undefined), { algorithm, type: byDefault })
    for (const [type, allowed] of [
      ['COMPOSITE', composite],
      ['FULL_OBJECT', full],
    ] as const) {
      if (allowed) assert.deepEqual(uploadChecksum(algorithm, type), { algorithm, type })
      else assert.equal(fault(() => uploadChecksum(algorithm, type)).code, 'InvalidRequest')
    }
  }
  assert.deepEqual(uploadChecksum('crc32', 'Full_Object'), { algorithm: 'CRC32', type: 'FULL_OBJECT' })
  for (const [algorithm, type] of [
    [undefined, 'COMPOSITE'],
    ['CRC32', 'composites'],
    ['CRC32', ''],
    ['MD5', undefined],
  ] as const) {
    assert.equal(fault(() => uploadChecksum(algorithm, type)).code, 'InvalidRequest')
  }
})

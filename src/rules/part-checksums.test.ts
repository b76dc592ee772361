import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../model/faults.ts'
import type { Checksum } from '../model/version.ts'
import { type ChecksumAlgorithm, digestOf, parseExpectedChecksum, type UploadChecksum } from './checksum.ts'
import {
  checkListedChecksum,
  copiedChecksum,
  derivedChecksum,
  type PartWithChecksum,
  verifyCompletionChecksum,
  withoutCount,
} from './part-checksums.ts'

const fault = (run: () => unknown): Fault => {
  try {
    run()
  } catch (error) {
    assert(error instanceof Fault, String(error))
    return error
  }
  assert.fail('no fault')
}

const MIB5 = 5 * 2 ** 20
const A = (length: number): Buffer => Buffer.alloc(length, 'a')
const sum = (algorithm: ChecksumAlgorithm, parts: readonly Buffer[]): PartWithChecksum[] =>
  parts.map(part => ({ size: part.length, checksum: digestOf(algorithm, part).toString('base64') }))

const HELLO = [Buffer.from('hello '), Buffer.from('world')]

const TABLE: readonly (readonly [readonly Buffer[], full: readonly string[], composite: readonly string[]])[] = [
  [
    [Buffer.alloc(MIB5, 'A'), Buffer.alloc(MIB5, 'B'), Buffer.alloc(MIB5, 'C')],
    ['WgDhBQ==', 'xU+Krw==', 'i+6LR0y3eFo='],
    ['Z+ry2Q==-3', 'g9DPqQ==-3', 'sizjvY4eud3MrcHdZM3cQ/ol39o=-3', 'uWBwpe1dxI4Vw8Gf0X9ynOdw/SS6VBzfWm9giiv1sf4=-3'],
  ],
  [
    HELLO,
    ['DUoRhQ==', 'yZRlqg==', 'jSnVw/bqjr4='],
    ['1Fu2mQ==-2', 'vUZpoA==-2', '9oeo+kMlG3hL6irRRMB+8GuSWwc=-2', 'Zhie15keHg/OBlOZxcoF/BXCgYZaeimRvdZnwUZqkaQ=-2'],
  ],
  [
    [A(MIB5 + 1), A(MIB5 + 1), A(10)],
    ['qSEQSA==', 'eTdAQA==', 'ZMNX55lZurA='],
    ['5FRUiw==-3', 'XF5+4A==-3', 'AyE60nyQoBgJcwsyPHWu7aJuxBs=-3', '9o++y6AejqboiJ7MZCx0fahK2Vu5YC/qnNhhYsCLciI=-3'],
  ],
]

test('R20 G18: full and composite values of objects in parts', () => {
  for (const [parts, full, composite] of TABLE) {
    for (const [index, algorithm] of (['CRC32', 'CRC32C', 'CRC64NVME'] as const).entries()) {
      const made = derivedChecksum({ algorithm, type: 'FULL_OBJECT' }, sum(algorithm, parts))
      assert.deepEqual(made, { algorithm, type: 'FULL_OBJECT', value: full[index] })
    }
    for (const [index, algorithm] of (['CRC32', 'CRC32C', 'SHA1', 'SHA256'] as const).entries()) {
      const made = derivedChecksum({ algorithm, type: 'COMPOSITE' }, sum(algorithm, parts))
      assert.deepEqual(made, { algorithm, type: 'COMPOSITE', value: composite[index] })
    }
  }
  assert.equal(
    derivedChecksum({ algorithm: 'CRC64NVME', type: 'FULL_OBJECT' }, sum('CRC64NVME', [A(3)]))?.value,
    'Rnr2/5P7Gsk=',
  )
  assert.equal(withoutCount('1Fu2mQ==-2'), '1Fu2mQ==')
  assert.equal(withoutCount('1Fu2mQ=='), '1Fu2mQ==')
})

test('a checksum that does not follow from the parts is not computed', () => {
  const full = { algorithm: 'SHA256', type: 'FULL_OBJECT' } as const
  assert.equal(derivedChecksum(full, sum('SHA256', HELLO)), undefined)
  assert.equal(derivedChecksum(full, sum('SHA256', [A(3)]))?.value, digestOf('SHA256', A(3)).toString('base64'))
  const crc = { algorithm: 'CRC32', type: 'COMPOSITE' } as const
  assert.equal(derivedChecksum(crc, []), undefined)
  assert.equal(derivedChecksum(crc, [...sum('CRC32', HELLO), { size: 1, checksum: undefined }]), undefined)
  assert.equal(derivedChecksum(crc, sum('SHA1', HELLO)), undefined)
})

test('R52: a copy reuses or combines where it can', () => {
  const composite: Checksum = { algorithm: 'CRC32', type: 'COMPOSITE', value: '1Fu2mQ==-2' }
  const whole: Checksum = { algorithm: 'CRC32', type: 'FULL_OBJECT', value: 'DUoRhQ==' }
  const sha: Checksum = { algorithm: 'SHA1', type: 'COMPOSITE', value: '9oeo+kMlG3hL6irRRMB+8GuSWwc=-2' }
  assert.deepEqual(copiedChecksum(composite, 'CRC32', sum('CRC32', HELLO)), whole)
  assert.deepEqual(copiedChecksum(whole, 'CRC32', []), whole)
  assert.equal(copiedChecksum(composite, 'CRC32C', sum('CRC32', HELLO)), undefined)
  assert.equal(copiedChecksum(composite, 'CRC32', []), undefined)
  assert.equal(copiedChecksum(sha, 'SHA1', sum('SHA1', HELLO)), undefined)
  assert.equal(copiedChecksum(undefined, 'CRC32', []), undefined)
})

const place = { uploadId: 'u', number: 7, etag: 'e' }
const composite: UploadChecksum = { algorithm: 'CRC32', type: 'COMPOSITE' }
const full: UploadChecksum = { algorithm: 'CRC32', type: 'FULL_OBJECT' }

test('R79 R80: the checksum of a listed part must match the stored one', () => {
  const listed = (declared: UploadChecksum | undefined, ...sent: (readonly [ChecksumAlgorithm, string])[]) =>
    checkListedChecksum(declared, sent, { checksum: declared === undefined ? undefined : 'DUoRhQ==' }, place)
  listed(undefined)
  listed(full)
  listed(full, ['CRC32', 'DUoRhQ=='])
  listed(composite, ['CRC32', 'DUoRhQ=='])
  const missing = fault(() => listed(composite))
  assert.equal(missing.code, 'InvalidRequest')
  assert.match(String(missing.detail.reason), /created using a crc32 checksum.*missing for part 7 in/)
  assert.equal(fault(() => listed(composite, ['CRC32C', 'yZRlqg=='])).code, 'InvalidRequest')
  const wrong = fault(() => listed(full, ['CRC32', 'AAAAAA==']))
  assert.equal(wrong.code, 'InvalidPart')
  assert.deepEqual(wrong.detail, { UploadId: 'u', PartNumber: 7, ETag: 'e' })
  const other = fault(() => listed(full, ['CRC32C', 'yZRlqg==']))
  assert.equal(other.code, 'BadDigest')
  assert.match(String(other.detail.reason), /for part 7/)
  assert.equal(fault(() => listed(undefined, ['CRC32', 'DUoRhQ=='])).code, 'BadDigest')
  assert.equal(fault(() => listed(full, ['CRC32', 'DUoRhQ=='], ['CRC32C', 'yZRlqg=='])).code, 'InvalidArgument')
  assert.equal(fault(() => listed(full, ['CRC32', 'nonsense'])).code, 'InvalidArgument')
  // The checksum sent with the part itself counts, declared or not.
  const kept = { algorithm: 'CRC32', checksum: 'DUoRhQ==' }
  checkListedChecksum(undefined, [['CRC32', 'DUoRhQ==']], kept, place)
  for (const sent of [['CRC32', 'AAAAAA=='] as const, ['CRC32C', 'DUoRhQ=='] as const]) {
    assert.equal(fault(() => checkListedChecksum(undefined, [sent], kept, place)).code, 'BadDigest')
  }
})

const claim = (name: string, value: string) => parseExpectedChecksum([[name, value]], true)

test('R82 R83: a completion that agrees with its parts, or states less', () => {
  const parts = sum('CRC32', HELLO)
  const derivedFull = { ...full, value: 'DUoRhQ==' }
  const derivedComposite = { ...composite, value: '1Fu2mQ==-2' }
  const settled = (checksum: Checksum | undefined) => ({ checksum, unverified: undefined })
  assert.deepEqual(verifyCompletionChecksum(undefined, undefined, undefined, parts), settled(undefined))
  assert.deepEqual(verifyCompletionChecksum(full, undefined, undefined, parts), settled(derivedFull))
  assert.deepEqual(
    verifyCompletionChecksum(full, 'FULL_OBJECT', claim('crc32', 'DUoRhQ=='), parts),
    settled(derivedFull),
  )
  assert.deepEqual(verifyCompletionChecksum(composite, 'COMPOSITE', undefined, parts), settled(derivedComposite))
  assert.deepEqual(
    verifyCompletionChecksum(composite, undefined, claim('crc32', '1Fu2mQ==-2'), parts),
    settled(derivedComposite),
  )
  assert.deepEqual(
    verifyCompletionChecksum(composite, undefined, claim('crc32', '1Fu2mQ=='), parts),
    settled(derivedComposite),
  )
})

test('R82 R83: a completion that contradicts its parts', () => {
  const parts = sum('CRC32', HELLO)
  const type = fault(() => verifyCompletionChecksum(composite, 'FULL_OBJECT', undefined, parts))
  assert.deepEqual([type.code, type.detail.typeDiffers], ['BadDigest', true])
  for (const [declared, value] of [
    [composite, '1Fu2mQ==-3'],
    [composite, 'AAAAAA==-2'],
    [composite, 'DUoRhQ=='],
    [full, 'AAAAAA=='],
    [full, 'DUoRhQ==-2'],
    [undefined, 'DUoRhQ==-3'],
  ] as const) {
    const wrong = fault(() => verifyCompletionChecksum(declared, undefined, claim('crc32', value), parts))
    assert.deepEqual([wrong.code, wrong.detail.typeDiffers], ['BadDigest', undefined], value)
  }
  assert.equal(
    fault(() => verifyCompletionChecksum(undefined, 'COMPOSITE', claim('crc32', '1Fu2mQ=='), parts)).code,
    'InvalidRequest',
  )
  assert.equal(
    fault(() => verifyCompletionChecksum(full, undefined, claim('sha1', `${'A'.repeat(27)}=-2`), parts)).code,
    'InvalidRequest',
  )
})

test('R82: an upload that declared nothing has what the client sent with every part', () => {
  const named = (algorithm: ChecksumAlgorithm, pieces = HELLO) =>
    sum(algorithm, pieces).map(part => ({ ...part, algorithm }))
  const crc = named('CRC32')
  const derived = (type: Checksum['type'], value: string) => ({
    checksum: { algorithm: 'CRC32', type, value },
    unverified: undefined,
  })
  assert.deepEqual(verifyCompletionChecksum(undefined, undefined, undefined, crc), {
    checksum: undefined,
    unverified: undefined,
  })
  const composite = derived('COMPOSITE', '1Fu2mQ==-2')
  assert.deepEqual(verifyCompletionChecksum(undefined, 'COMPOSITE', undefined, crc), composite)
  assert.deepEqual(verifyCompletionChecksum(undefined, 'COMPOSITE', claim('crc32', '1Fu2mQ=='), crc), composite)
  assert.deepEqual(verifyCompletionChecksum(undefined, undefined, claim('crc32', '1Fu2mQ==-2'), crc), composite)
  const whole = derived('FULL_OBJECT', 'DUoRhQ==')
  assert.deepEqual(verifyCompletionChecksum(undefined, 'FULL_OBJECT', undefined, crc), whole)
  assert.deepEqual(verifyCompletionChecksum(undefined, undefined, claim('crc32', 'DUoRhQ=='), crc), whole)
  assert.equal(
    fault(() => verifyCompletionChecksum(undefined, 'COMPOSITE', claim('crc32', 'AAAAAA=='), crc)).code,
    'BadDigest',
  )
  const mixed = [crc[0]!, named('CRC32C')[1]!]
  for (const parts of [mixed, sum('CRC32', HELLO), named('CRC64NVME')]) {
    assert.equal(fault(() => verifyCompletionChecksum(undefined, 'COMPOSITE', undefined, parts)).code, 'InvalidRequest')
  }
  const other = claim('crc32c', 'yZRlqg==')!
  assert.equal(verifyCompletionChecksum(undefined, undefined, other, crc).unverified, other)
})

test('R83: a checksum that the parts cannot verify requires reading the bytes', () => {
  const parts = sum('CRC32', HELLO)
  const sha = claim('sha256', 'uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=')!
  assert.deepEqual(verifyCompletionChecksum(full, undefined, sha, parts), {
    checksum: { ...full, value: 'DUoRhQ==' },
    unverified: sha,
  })
  const bare = parts.map(({ size }) => ({ size, checksum: undefined }))
  const crc = claim('crc32c', 'yZRlqg==')!
  assert.deepEqual(verifyCompletionChecksum(undefined, 'FULL_OBJECT', crc, bare), {
    checksum: { algorithm: 'CRC32C', type: 'FULL_OBJECT', value: 'yZRlqg==' },
    unverified: crc,
  })
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Fault } from '../model/faults.ts'
import type { Part } from '../model/upload.ts'
import { assemble, multipartEtag } from './assembly.ts'
import { LIMITS } from './limits.ts'

const md5 = (text: string): string => createHash('md5').update(text).digest('hex')

const part = (number: number, size: number, etag = md5(String(number))): Part => ({
  number,
  size,
  etag,
  checksum: undefined,
  algorithm: undefined,
  modifiedAt: 0,
  begunAt: 0,
  slices: [],
})

const stored = new Map([part(1, LIMITS.partBytesMin), part(2, LIMITS.partBytesMin), part(7, 0)].map(p => [p.number, p]))
const listed = (...numbers: number[]) => numbers.map(number => ({ number, etag: md5(String(number)) }))

const faultOf = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    assert(error instanceof Fault)
    return error.code
  }
  return 'none'
}

test('R16: the tag of a multipart object is the MD5 of the binary digests and their count', () => {
  assert.equal(multipartEtag([md5('hello '), md5('world')]), 'e09e4fd6265b36115fe3db32df945d84-2')
})

test('R76–R78 R81: parts are assembled in order and within limits, or refused', () => {
  const { size, parts } = assemble(listed(1, 2, 7), stored, 'u')
  assert.equal(size, 2 * LIMITS.partBytesMin)
  assert.deepEqual(
    parts.map(p => p.number),
    [1, 2, 7],
  )
  assert.equal(
    faultOf(() => assemble([], stored, 'u')),
    'InvalidRequest',
  )
  assert.equal(
    faultOf(() => assemble(listed(2, 1), stored, 'u')),
    'InvalidPartOrder',
  )
  // The result does not depend on whether the part in the wrong place was ever stored.
  assert.equal(
    faultOf(() => assemble(listed(3, 1), stored, 'u')),
    'InvalidPartOrder',
  )
  assert.equal(
    faultOf(() => assemble(listed(1, 1), stored, 'u')),
    'InvalidPartOrder',
  )
  assert.equal(
    faultOf(() => assemble(listed(1, 3), stored, 'u')),
    'InvalidPart',
  )
  assert.equal(
    faultOf(() => assemble([{ number: 1, etag: md5('other') }], stored, 'u')),
    'InvalidPart',
  )
  const small = new Map([...stored, [3, part(3, LIMITS.partBytesMin - 1)] as const])
  assert.equal(
    faultOf(() => assemble(listed(1, 3, 7), small, 'u')),
    'EntityTooSmall',
  )
  assert.equal(
    faultOf(() => assemble(listed(1, 3), small, 'u')),
    'none',
  )
})

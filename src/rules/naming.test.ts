import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../model/faults.ts'
import { checkKey, isBucketName } from './naming.ts'

test('G15: bucket names', () => {
  const good = ['abc', 'a-b', 'a.b', 'a1.b2-c3', '123', 'a'.repeat(63), '1.2.3', 'my.bucket.name']
  const bad = [
    '',
    'ab',
    'a'.repeat(64),
    'Abc',
    'a_b',
    'a..b',
    'a.-b',
    'a-.b',
    '-ab',
    'ab-',
    '.ab',
    'ab.',
    '192.168.1.1',
  ]
  const reserved = ['xn--abc', 'abc-s3alias', 'abc--ol-s3', 'a/b', 'a b', '..', 'a\0b', 'äöü']
  for (const name of good) assert(isBucketName(name), name)
  for (const name of [...bad, ...reserved]) assert(!isBucketName(name), name)
})

const codeOf = (key: string): string | undefined => {
  try {
    checkKey(key)
    return undefined
  } catch (error) {
    assert(error instanceof Fault)
    return error.code
  }
}

test('R6: keys are 1 to 1024 bytes of UTF-8, of any characters except NUL', () => {
  for (const key of ['a', '/', '//', '.', '..', 'a/../b', '__proto__', ' ', '\n', '\u202e', 'é', 'e\u0301', '😀']) {
    assert.equal(codeOf(key), undefined, JSON.stringify(key))
  }
  assert.equal(codeOf('x'.repeat(1024)), undefined)
  assert.equal(codeOf('é'.repeat(512)), undefined)
  assert.equal(codeOf('x'.repeat(1025)), 'KeyTooLongError')
  assert.equal(codeOf('é'.repeat(513)), 'KeyTooLongError')
  assert.equal(codeOf(''), 'InvalidArgument')
  assert.equal(codeOf('a\0b'), 'InvalidURI')
  assert.equal(codeOf('\ud800'), 'InvalidURI')
})

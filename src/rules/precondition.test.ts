import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../model/faults.ts'
import { checkPrecondition } from './precondition.ts'

const outcome = (
  ifMatch: string[] | undefined,
  ifNoneMatch: string[] | undefined,
  etag: string | undefined,
): string => {
  try {
    checkPrecondition({ ifMatch, ifNoneMatch }, etag)
    return 'proceed'
  } catch (error) {
    assert(error instanceof Fault)
    return String(error.detail.Condition)
  }
}

test('R92–R94: both conditions are looked at, If-Match first', () => {
  assert.equal(outcome(undefined, undefined, undefined), 'proceed')
  assert.equal(outcome(['a'], undefined, 'a'), 'proceed')
  assert.equal(outcome(['b', 'a'], undefined, 'a'), 'proceed')
  assert.equal(outcome(['*'], undefined, 'a'), 'proceed')
  assert.equal(outcome(['b'], undefined, 'a'), 'If-Match')
  assert.equal(outcome(['*'], undefined, undefined), 'If-Match')
  assert.equal(outcome(undefined, ['a'], 'a'), 'If-None-Match')
  assert.equal(outcome(undefined, ['*'], 'a'), 'If-None-Match')
  assert.equal(outcome(undefined, ['*'], undefined), 'proceed')
  assert.equal(outcome(undefined, ['b'], 'a'), 'proceed')
  assert.equal(outcome(['b'], ['a'], 'a'), 'If-Match')
  assert.equal(outcome(['a'], ['a'], 'a'), 'If-None-Match')
})

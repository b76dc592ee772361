import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from './faults.ts'

test('a fault captures no stack trace and leaves those of other errors intact', () => {
  const frames = (error: Error): number => (error.stack ?? '').split('\n').filter(line => /^\s+at /.test(line)).length
  const before = frames(new Error('before'))
  assert.equal(frames(new Fault('NoSuchKey')), 0)
  assert(before > 0)
  assert.equal(frames(new Error('after')), before)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoizeLast } from './memoize-last.ts'

test('a result is recomputed only after a different argument', () => {
  const made: (string | undefined)[] = []
  const make = memoizeLast((of: string | undefined) => made.push(of))
  assert.deepEqual([undefined, undefined, 'a', 'a', 'b', 'a'].map(make), [1, 1, 2, 2, 3, 4])
  assert.deepEqual(made, [undefined, 'a', 'b', 'a'])
})

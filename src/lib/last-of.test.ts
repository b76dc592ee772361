import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastOf } from './last-of.ts'

test('what is made of an argument is made again only after another one', () => {
  const made: (string | undefined)[] = []
  const make = lastOf((of: string | undefined) => made.push(of))
  assert.deepEqual([undefined, undefined, 'a', 'a', 'b', 'a'].map(make), [1, 1, 2, 2, 3, 4])
  assert.deepEqual(made, [undefined, 'a', 'b', 'a'])
})

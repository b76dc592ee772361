/** Names of copies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { numberedKey } from '../../console/src/copies/numbered-key.ts'

test('a copy beside an object of its name has a number before its extension', () => {
  const table = [
    ['a/photo.jpg', 1, 'a/photo.jpg'],
    ['a/photo.jpg', 2, 'a/photo (2).jpg'],
    ['a.b/photo', 3, 'a.b/photo (3)'],
    ['.profile', 2, '.profile (2)'],
    ['a/.profile', 2, 'a/.profile (2)'],
    ['x.tar.gz', 2, 'x.tar (2).gz'],
  ] as const
  for (const [key, number, name] of table) assert.equal(numberedKey(key, number), name)
})

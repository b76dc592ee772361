/** Names of copies, and what they would replace. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { numberedKey } from '../../console/src/copies/numbered-key.ts'
import { meetsSources } from '../../console/src/copies/target-key.ts'

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

test('copies that would take the names of objects yet to be copied are found', () => {
  const meets = (from: string, to: string, keys: readonly string[], bucket = 'here'): boolean =>
    meetsSources(
      { from: { bucket: 'here', prefix: from }, to: { bucket, prefix: to } },
      keys.map(key => ({ key })),
    )
  assert.equal(meets('a/', '', ['a/a/x', 'a/a/a/x']), true)
  assert.equal(meets('a/', '', ['a/a/x', 'a/a/a/x'], 'there'), false)
  assert.equal(meets('a/', '', ['a/a/x', 'a/a/a/y']), false)
  assert.equal(meets('', 'a/', ['a/a/x', 'a/x']), true)
  assert.equal(meets('a/', 'b/', ['a/b/x', 'a/x']), false)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ParseCache } from './parse-cache.ts'

test('parse results are cached up to a limit', () => {
  let reads = 0
  const memo = new ParseCache(() => ({ reads: (reads += 1) }), 10)
  assert.equal(memo.get('aaaa'), memo.get('aaaa'))
  assert.equal(reads, 1)
  for (const text of ['bbbb', 'cccc', 'dddd']) memo.get(text)
  assert(memo.characters <= 10)
  memo.get('aaaa')
  assert.equal(reads, 5)
  memo.get('x'.repeat(11))
  assert.equal(memo.characters, 0)
})

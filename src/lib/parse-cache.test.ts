import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ParseCache } from './parse-cache.ts'
import { REPORTS_WRITTEN_BYTES } from './runtime.ts'
import { keptBytes } from './suite-memory.ts'

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

const ON_V8 = { skip: !REPORTS_WRITTEN_BYTES && 'another engine shares the memory of texts in its own way' }

test('a text that was cut out of a longer one is cached without the rest', ON_V8, async () => {
  const cache = new ParseCache(text => [text.slice(50)])
  const kept = await keptBytes(() => {
    for (let at = 0; at < 100; at++) {
      const longer = Buffer.alloc(100_000, at.toString(16).padStart(2, '0')).toString('latin1')
      cache.get(longer.slice(1_000, 1_200))
    }
  })
  assert.equal(cache.characters, 20_000)
  assert.ok(kept < 1_000_000, `${kept} bytes`)
})

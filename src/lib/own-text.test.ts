import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownText } from './own-text.ts'
import { REPORTS_WRITTEN_BYTES } from './runtime.ts'
import { keptBytes } from './suite-memory.ts'

test('the text is the same', () => {
  for (const text of ['', 'a', 'plain text', 'Größe', '\u{1f600}', 'half of \ud83d', 'x'.repeat(10_000)]) {
    assert.equal(ownText(text), text)
  }
})

const KIB = 2 ** 10
const ON_V8 = { skip: !REPORTS_WRITTEN_BYTES && 'another engine shares the memory of texts in its own way' }

test('a text of its own does not keep the one that it was a part of', ON_V8, async () => {
  const kept: string[] = []
  const partOf = (at: number): string =>
    Buffer.alloc(100 * KIB, String(at % 10))
      .toString('latin1')
      .slice(100, 200)
  const parts = await keptBytes(() => {
    for (let at = 0; at < 30; at++) kept.push(partOf(at))
  })
  assert.ok(parts > 2_700 * KIB, `${parts} bytes for parts`)
  const own = await keptBytes(() => {
    for (let at = 0; at < 30; at++) kept.push(ownText(partOf(at)))
  })
  assert.ok(own < 900 * KIB, `${own} bytes for texts of their own`)
  assert.equal(kept.length, 60)
})

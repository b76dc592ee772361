import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareAsUtf8, copyOf } from './bytes.ts'

/** From few characters, so that texts share prefixes, and on both sides of every boundary of both encodings. */
const text = fc.string({
  unit: fc.constantFrom(
    'a',
    'b',
    '\x7f',
    '\x80',
    '\u07ff',
    '\u0800',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '\u{10000}',
    '\u{10ffff}',
  ),
  maxLength: 4,
})

test('texts compare as their bytes do', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.equal(Math.sign(compareAsUtf8(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)))
    }),
    { numRuns: 2_000 },
  )
})

test('a copy of a span has its own memory', () => {
  const bytes = Buffer.from('abcdef')
  const copy = copyOf({ bytes, start: 2, end: 4 })
  bytes.fill(0)
  assert.equal(copy.toString(), 'cd')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareAsUtf8, copyOf, copyShared } from './bytes.ts'

/** Of few characters, so that texts share beginnings, and on both sides of every border of both encodings. */
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

test("a copy of a stretch is its bytes alone, and nobody else's", () => {
  const bytes = Buffer.from('abcdef')
  const copy = copyOf({ bytes, start: 2, end: 4 })
  bytes.fill(0)
  assert.equal(copy.toString(), 'cd')
})

test('bytes come into shared memory as they are, wherever they lie, and nothing beside them changes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(20), fc.nat(20), (bytes, skipped, at) => {
      const from = Buffer.concat([Buffer.alloc(skipped, 9), bytes]).subarray(skipped)
      const to = Buffer.from(new SharedArrayBuffer(140)).fill(7)
      const expected = Buffer.alloc(140, 7)
      expected.set(from, at)
      copyShared(from, to, at)
      assert.deepEqual(Buffer.from(to), expected)
    }),
  )
})

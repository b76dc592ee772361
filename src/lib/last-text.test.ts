import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LastText } from './last-text.ts'

test('property: the text is that of the bytes, whatever was asked for before', () => {
  const piece = fc.oneof(fc.constantFrom('', 'a', 'ab', 'b', '\xe9', 'x'.repeat(512), 'x'.repeat(513)), fc.string())
  fc.assert(
    fc.property(fc.array(fc.tuple(piece, piece)), pieces => {
      const last = new LastText()
      for (const [before, text] of pieces) {
        const bytes = Buffer.from(`${before}${text}|`, 'latin1')
        const start = Buffer.byteLength(before, 'latin1')
        assert.equal(last.of(bytes, start, bytes.length - 1), bytes.toString('latin1', start, bytes.length - 1))
      }
    }),
  )
})

test('bytes that are changed after they were asked for do not change the text', () => {
  const last = new LastText()
  const bytes = Buffer.from('once')
  assert.equal(last.of(bytes, 0, 4), 'once')
  bytes.fill('x')
  assert.equal(last.of(Buffer.from('once'), 0, 4), 'once')
  assert.equal(last.of(bytes, 0, 4), 'xxxx')
})

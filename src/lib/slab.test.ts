import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Slab } from './slab.ts'

test('buffers have their length and never overlap', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 80 }), { maxLength: 50 }), lengths => {
      const slab = new Slab(128)
      const pieces = lengths.map((length, i) => slab.cut(length).fill(i))
      for (const [i, piece] of pieces.entries()) {
        assert.equal(piece.length, lengths[i])
        assert(piece.every(byte => byte === i))
      }
    }),
  )
})

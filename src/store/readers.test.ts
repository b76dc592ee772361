import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Readers } from './readers.ts'

test('a line is passed exactly when everybody who stood before it has left', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ enter: fc.boolean(), pick: fc.nat() }), { maxLength: 60 }), moves => {
      const readers = new Readers()
      const inside: number[] = []
      const lines: { line: number; before: Set<number> }[] = []
      for (const { enter, pick } of moves) {
        if (enter || inside.length === 0) inside.push(readers.enter())
        else readers.leave(inside.splice(pick % inside.length, 1)[0]!)
        lines.push({ line: readers.line(), before: new Set(inside) })
        for (const { line, before } of lines) {
          assert.equal(readers.passed(line), !inside.some(ticket => before.has(ticket)))
        }
      }
    }),
  )
})

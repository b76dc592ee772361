import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EpochPin, EpochTracker } from './epoch-tracker.ts'

test('a line is passed exactly when everybody who stood before it has left', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ enter: fc.boolean(), pick: fc.nat() }), { maxLength: 60 }), moves => {
      const readers = new EpochTracker()
      const inside: number[] = []
      const lines: { line: number; before: Set<number> }[] = []
      for (const { enter, pick } of moves) {
        if (enter || inside.length === 0) inside.push(readers.enter())
        else readers.leave(inside.splice(pick % inside.length, 1)[0]!)
        lines.push({ line: readers.current(), before: new Set(inside) })
        for (const { line, before } of lines) {
          assert.equal(readers.hasPassed(line), !inside.some(ticket => before.has(ticket)))
        }
      }
    }),
  )
})

test('whoever waits is told when the last of those who were inside has left, in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ move: fc.nat(2), pick: fc.nat() }), { maxLength: 60 }), async moves => {
      const epochs = new EpochTracker()
      const inside: number[] = []
      const waiting: { told: boolean; before: Set<number> }[] = []
      for (const { move, pick } of moves) {
        if (move === 0) inside.push(epochs.enter())
        else if (move === 1 && inside.length > 0) epochs.leave(inside.splice(pick % inside.length, 1)[0]!)
        else {
          const one = { told: false, before: new Set(inside) }
          waiting.push(one)
          void epochs.drained().then(() => {
            one.told = true
          })
        }
        await new Promise(resolve => setImmediate(resolve))
        for (const { told, before } of waiting) assert.equal(told, !inside.some(ticket => before.has(ticket)))
      }
    }),
  )
})

test('a stay lasts until it has ended and what was opened in it is closed, in whatever order', () => {
  for (const order of [
    ['close', 'end'],
    ['end', 'close'],
    ['close', 'close', 'end', 'end'],
    ['end', 'end', 'close'],
  ]) {
    const epochs = new EpochTracker()
    const stay = new EpochPin(epochs)
    const line = epochs.current()
    const opened = stay.enter()
    const left = new Set<string>()
    for (const what of order) {
      if (what === 'end') stay.end()
      else stay.leave(opened)
      left.add(what)
      assert.equal(epochs.hasPassed(line), left.size === 2, `${order}: ${what}`)
    }
    assert.equal(epochs.count, 0)
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EpochTracker, RequestEpochGuard } from './epoch-tracker.ts'

test('an epoch has passed exactly when everything entered before it has left', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ enter: fc.boolean(), pick: fc.nat() }), { maxLength: 60 }), moves => {
      const readers = new EpochTracker()
      const active: number[] = []
      const epochs: { epoch: number; before: Set<number> }[] = []
      for (const { enter, pick } of moves) {
        if (enter || active.length === 0) active.push(readers.enter())
        else readers.leave(active.splice(pick % active.length, 1)[0]!)
        epochs.push({ epoch: readers.current(), before: new Set(active) })
        for (const { epoch, before } of epochs) {
          assert.equal(readers.hasPassed(epoch), !active.some(pin => before.has(pin)))
        }
      }
    }),
  )
})

test('drained resolves when everything that was active at the call has left, in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ move: fc.nat(2), pick: fc.nat() }), { maxLength: 60 }), async moves => {
      const epochs = new EpochTracker()
      const active: number[] = []
      const waiting: { isDrained: boolean; before: Set<number> }[] = []
      for (const { move, pick } of moves) {
        if (move === 0) active.push(epochs.enter())
        else if (move === 1 && active.length > 0) epochs.leave(active.splice(pick % active.length, 1)[0]!)
        else {
          const one = { isDrained: false, before: new Set(active) }
          waiting.push(one)
          void epochs.drained().then(() => {
            one.isDrained = true
          })
        }
        await new Promise(resolve => setImmediate(resolve))
        for (const { isDrained, before } of waiting) assert.equal(isDrained, !active.some(pin => before.has(pin)))
      }
    }),
  )
})

test('a pin lasts until it has ended and its handles are closed, in any order', () => {
  for (const order of [
    ['close', 'end'],
    ['end', 'close'],
    ['close', 'close', 'end', 'end'],
    ['end', 'end', 'close'],
  ]) {
    const epochs = new EpochTracker()
    const pin = new RequestEpochGuard(epochs)
    const epoch = epochs.current()
    const handle = pin.enter()
    const left = new Set<string>()
    for (const what of order) {
      if (what === 'end') pin.end()
      else pin.leave(handle)
      left.add(what)
      assert.equal(epochs.hasPassed(epoch), left.size === 2, `${order}: ${what}`)
    }
    assert.equal(epochs.count, 0)
  }
})

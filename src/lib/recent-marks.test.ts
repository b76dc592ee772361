import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RecentMarks } from './recent-marks.ts'

test('a number is new once, until one with its slot comes', () => {
  const marks = new RecentMarks(8)
  assert.deepEqual([marks.isNew(3), marks.isNew(3), marks.isNew(4), marks.isNew(3)], [true, false, true, false])
  assert.deepEqual([marks.isNew(11), marks.isNew(3), marks.isNew(3)], [true, true, false])
})

test('property: nothing counts as met that was not', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 2 ** 32 - 1 })), numbers => {
      const marks = new RecentMarks(16)
      const met = new Set<number>()
      for (const number of numbers) {
        assert(marks.isNew(number) || met.has(number))
        met.add(number)
      }
    }),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isJump, JUMP_MS_MAX, lockTime, nextClockMark } from './lock-time.ts'

const AT = 10_000_000_000
const moment = fc.integer({ min: 0, max: 2 * AT })

test('P19: a clock up to a day ahead of the accounted time is accepted, more is a jump', () => {
  for (const [now, trusted, time] of [
    [AT, AT, AT],
    [AT + JUMP_MS_MAX, AT, AT + JUMP_MS_MAX],
    [AT + JUMP_MS_MAX + 1, AT, AT],
    [AT + JUMP_MS_MAX + 1, AT - 5, AT - 5],
    [AT + JUMP_MS_MAX + 1, AT + 5, AT],
    [AT - 10 * JUMP_MS_MAX, AT, AT - 10 * JUMP_MS_MAX],
  ] as const) {
    assert.equal(lockTime(now, AT, trusted), time)
  }
})

test('P19: locks end neither before the clock says so, nor more than a day before what is accounted for', () => {
  fc.assert(
    fc.property(moment, moment, moment, (now, accounted, trusted) => {
      const time = lockTime(now, accounted, trusted)
      assert(time <= now && time <= accounted + JUMP_MS_MAX)
    }),
  )
})

test('P19: the accounted time never decreases and never follows a jump', () => {
  fc.assert(
    fc.property(moment, moment, (now, accounted) => {
      const mark = nextClockMark(now, accounted)
      assert(mark >= accounted && mark <= accounted + JUMP_MS_MAX)
      assert.equal(isJump(now, accounted), mark === accounted && now > accounted + JUMP_MS_MAX)
    }),
  )
})

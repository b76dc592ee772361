import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TimeSlices } from './time-slices.ts'

function compute(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

test('steps that run at once leave the event loop a turn after every few of them', async () => {
  const slices = new TimeSlices()
  let steps = 0
  let atLast = 0
  const stepsOfTurns: number[] = []
  let isOver = false
  const watch = (): void => {
    stepsOfTurns.push(steps - atLast)
    atLast = steps
    if (!isOver) setImmediate(watch)
  }
  setImmediate(watch)
  await Promise.all(
    Array.from({ length: 50 }, () =>
      slices.run(() => {
        compute(4)
        steps++
      }),
    ),
  )
  isOver = true
  assert.equal(steps, 50)
  assert(Math.max(...stepsOfTurns) <= 3, stepsOfTurns.join())
})

test('quick steps do not wait', async () => {
  const slices = new TimeSlices()
  let hasTurned = false
  const turning = setImmediate(() => {
    hasTurned = true
  })
  assert.equal(await slices.run(() => 1), 1)
  assert.equal(await slices.run(() => 2), 2)
  assert.equal(hasTurned, false)
  clearImmediate(turning)
})

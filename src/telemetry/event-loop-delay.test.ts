import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventLoopDelay } from './event-loop-delay.ts'

/** A histogram whose delays a test adds, in nanoseconds. */
class AddedDelays {
  #delays: number[] = []

  add(...delays: readonly number[]): void {
    this.#delays = [...this.#delays, ...delays].sort((a, b) => a - b)
  }

  get max(): number {
    return this.#delays.at(-1) ?? 0
  }

  percentile(percent: number): number {
    return this.#delays[Math.max(0, Math.ceil((percent / 100) * this.#delays.length) - 1)] ?? 0
  }

  reset(): void {
    this.#delays = []
  }
}

test('reading the event loop delay does not begin a new window', () => {
  const histogram = new AddedDelays()
  const delay = new EventLoopDelay(histogram)
  histogram.add(10, 20, 900)
  const first = delay.points()
  assert.deepEqual(first, { median: 20, percentile99: 900, max: 900 })
  assert.deepEqual(delay.points(), first, 'a second reader sees the same')
})

test('a delay is shown for the rest of its window and for the next one', () => {
  const histogram = new AddedDelays()
  const delay = new EventLoopDelay(histogram)
  histogram.add(900)
  delay.rotate()
  histogram.add(10)
  assert.equal(delay.points()?.max, 900)
  delay.rotate()
  assert.equal(delay.points()?.max, 10)
})

test('each point is the worse of the current window and the one before it', () => {
  const histogram = new AddedDelays()
  const delay = new EventLoopDelay(histogram)
  histogram.add(50, 50, 50)
  delay.rotate()
  histogram.add(10, 10, 900)
  assert.deepEqual(delay.points(), { median: 50, percentile99: 900, max: 900 })
})

test('nothing is shown while nothing was measured', () => {
  const delay = new EventLoopDelay(new AddedDelays())
  assert.equal(delay.points(), undefined)
  delay.rotate()
  assert.equal(delay.points(), undefined)
})

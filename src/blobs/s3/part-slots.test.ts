import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../lib/clock.ts'
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import { PartSlots } from './part-slots.ts'

test('slots are granted in the order of arrival', async () => {
  const slots = new PartSlots(new ManualClock(), 2, 1000)
  const granted: number[] = []
  await slots.acquire()
  await slots.acquire()
  const waiting = [1, 2].map(n => slots.acquire().then(() => granted.push(n)))
  assert.deepEqual(granted, [])
  slots.release()
  await waiting[0]
  assert.deepEqual(granted, [1])
  slots.release()
  await waiting[1]
  slots.release()
  await slots.acquire()
})

test('a wait for a slot ends, and leaves the next slot to others', async () => {
  const clock = new ManualClock()
  const slots = new PartSlots(clock, 1, 1000)
  await slots.acquire()
  const refused = assert.rejects(slots.acquire(), EngineUnavailable)
  clock.move(1000)
  await refused
  slots.release()
  await slots.acquire()
})

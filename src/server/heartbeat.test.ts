import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Heartbeat, MISSED_BEATS_MAX } from './heartbeat.ts'

test('a member that misses too many heartbeats is reported once, one that responds never', () => {
  const pulse = new Heartbeat<string>()
  const asked: string[] = []
  const step = () => pulse.step(['stuck', 'fine'], member => void asked.push(member))
  assert.deepEqual(step(), [])
  for (let beat = 1; beat <= MISSED_BEATS_MAX; beat++) {
    pulse.settle('fine')
    assert.deepEqual(step(), beat === MISSED_BEATS_MAX ? ['stuck'] : [])
    assert.equal(pulse.longestMissed, beat)
  }
  pulse.settle('fine')
  assert.deepEqual(step(), [], 'it was named')
  assert.equal(asked.filter(member => member === 'stuck').length, 1)
  assert.equal(asked.filter(member => member === 'fine').length, MISSED_BEATS_MAX + 2)
  pulse.settle('stuck')
  pulse.settle('fine')
  assert.equal(pulse.longestMissed, 0)
  assert.deepEqual(step(), [])
})

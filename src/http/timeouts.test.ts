import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ManualClock } from '../lib/clock.ts'
import { TIMEOUTS, Timeouts, TransferRate } from './timeouts.ts'

/** Whether a body that delivers this many bytes at this interval is too slow at any time within ten minutes. */
function isEverTooSlow(bytes: number, everyMs: number, busyMs = 0): boolean {
  const pace = new TransferRate()
  for (let now = 0; now < 600_000; now += busyMs) {
    pace.wait(now)
    now += everyMs
    if (pace.isTooSlow(now)) return true
    pace.arrived(now, bytes)
  }
  return false
}

test('A48: a body times out after 20 s without a byte, or below 1 KB/s over a minute', () => {
  for (const [bytes, everyMs, expected] of [
    [1, 1_000, true],
    [1023, 1_000, true],
    [1024, 1_000, false],
    [2 ** 20, 19_999, false],
    [2 ** 20, 20_000, true],
    [20 * 1024, 19_999, false],
    [20 * 1023, 19_999, true],
    [64 * 1024, 59, false],
  ] as const) {
    assert.equal(isEverTooSlow(bytes, everyMs), expected, `${bytes} bytes every ${everyMs} ms`)
  }
})

test('A48: only time spent waiting for the body counts', () => {
  assert.equal(isEverTooSlow(64, 10, 30_000), false)
  const idle = new TransferRate()
  assert.equal(idle.isTooSlow(1e9), false)
})

test('A48: a body that arrives at 1 KB a second or more is never too slow', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 19_999 }), fc.integer({ min: 0, max: 100_000 }), (everyMs, more) => {
      assert.equal(isEverTooSlow(Math.ceil(everyMs * 1.024) + more, everyMs), false)
    }),
  )
})

test('a check expires overdue waits once and leaves the others', () => {
  const clock = new ManualClock()
  const timeouts = new Timeouts(clock)
  const ended: string[] = []
  const wait = (name: string, ms: number) => {
    const since = clock.now()
    return { isOver: (now: number) => now - since >= ms, expire: () => ended.push(name) }
  }
  timeouts.begin(wait('short', TIMEOUTS.bodyIdleMs))
  timeouts.begin(wait('long', TIMEOUTS.keepAliveMs))
  const done = wait('done', 1)
  timeouts.begin(done)
  timeouts.end(done)
  timeouts.check()
  assert.deepEqual(ended, [])
  clock.move(TIMEOUTS.bodyIdleMs)
  timeouts.check()
  timeouts.check()
  assert.deepEqual(ended, ['short'])
  clock.move(TIMEOUTS.keepAliveMs)
  timeouts.check()
  assert.deepEqual(ended, ['short', 'long'])
})

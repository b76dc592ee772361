import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../lib/clock.ts'
import { openMemoryMeta } from '../meta/memory/memory.ts'
import type { Meta } from '../meta/meta.ts'
import { ClockRefused, ClockWatch } from './clock-watch.ts'

/** A database whose clock is `aheadMs` ahead, and takes `tripMs` to answer. */
async function watched(database: { aheadMs: number; tripMs: number }) {
  const clock = new ManualClock()
  const meta: Meta = await openMemoryMeta()
  const none = async (): Promise<never> => {
    throw new Error('not used')
  }
  async function serverTime(): Promise<number> {
    clock.move(database.tripMs / 2)
    const time = clock.now() + database.aheadMs
    clock.move(database.tripMs / 2)
    return time
  }
  Object.assign(meta, { remote: { getMany: none, scanWithKeys: none, serverTime } })
  const lines: string[] = []
  const watch = new ClockWatch(meta, clock, (level, text) => void lines.push(`${level}: ${text.split(':')[0]}`))
  return { clock, watch, lines }
}

test('a server whose clock is more than a minute off does not join, and its error says what to do', async () => {
  for (const aheadMs of [-61_000, 600_000]) {
    const { watch, lines } = await watched({ aheadMs, tripMs: 10 })
    await assert.rejects(watch.assertFit(), (error: Error) => {
      assert.ok(error instanceof ClockRefused)
      assert.match(error.message, aheadMs < 0 ? /61\.00 s behind/ : /600\.00 s ahead of/)
      assert.match(error.message, /synchronise both .*, then start again$/)
      return true
    })
    assert.deepEqual(lines, [])
  }
})

test('a clock that is seconds off is reported, and the round trip does not count', async () => {
  const near = await watched({ aheadMs: 1_500, tripMs: 4_000 })
  await near.watch.assertFit()
  assert.deepEqual([near.lines, near.watch.aheadMs], [[], 1_500])
  const off = await watched({ aheadMs: -5_000, tripMs: 10 })
  await off.watch.assertFit()
  assert.deepEqual(off.lines, ["warn: the database's clock is 5.00 s behind this machine's"])
  const slow = await watched({ aheadMs: 61_000, tripMs: 4_000 })
  await slow.watch.assertFit()
  assert.match(slow.lines[0]!, /^warn: /, 'the offset could be less than a minute')
})

test('a clock that is set while a server serves is reported once, and once more when it is right again', async () => {
  const database = { aheadMs: 0, tripMs: 10 }
  const { clock, watch, lines } = await watched(database)
  await watch.assertFit()
  clock.jump(600_000)
  database.aheadMs = -600_000
  await watch.look()
  assert.deepEqual(lines, [], 'not measured at every renewal')
  for (let i = 0; i < 3; i++) {
    clock.move(30_000)
    await watch.look()
  }
  assert.deepEqual(lines, ["error: the database's clock is 600.00 s behind this machine's"])
  assert.equal(watch.aheadMs, -600_000)
  database.aheadMs = 0
  clock.move(30_000)
  await watch.look()
  assert.equal(lines[1], "info: the database's clock is 0.00 s ahead of this machine's")
})

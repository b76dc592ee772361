import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ManualClock } from '../../src/lib/clock.ts'
import { ClockCheckpointer } from '../../src/maintenance/clock-checkpointer.ts'
import type { Store } from '../../src/store/store.ts'
import { ENGINES, faultOf, freshStore, makeBucket, OWNER, openOn, payload, remove } from './fixture.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const at = { bucket: 'bucket', key: 'key' }

/** A version that is retained for this long, and a lock clock mark in the store. */
async function retained(store: Store, clock: ManualClock, ms: number): Promise<string> {
  await makeBucket(store, 'bucket', 'locked')
  const lock = { hold: undefined, retention: { mode: 'compliance', until: clock.now() + ms } } as const
  const { id } = await store.objects.put({ ...at, owner: OWNER, body: [payload(10)], lock })
  await store.context.lockClock.mark()
  return id
}

for (const { name, run } of ENGINES) {
  test(`${name}: P19: a clock jump releases nothing until it is confirmed`, () =>
    run(async (store, clock) => {
      const id = await retained(store, clock, 30 * DAY)
      clock.jump(40 * DAY)
      assert.equal(await faultOf(remove(store, 'bucket', 'key', id)), 'AccessDenied')
      const which = { ...at, versionId: id }
      assert.equal(await faultOf(store.objects.setRetention(which, undefined, { bypass: true })), 'AccessDenied')
      assert.equal((await store.context.lockClock.state()).jumped, true)
      await store.context.lockClock.confirm(store.context)
      assert.equal((await store.context.lockClock.state()).jumped, false)
      assert.equal((await remove(store, 'bucket', 'key', id)).removed?.id, id)
    }))
}

test('P19: a jump of up to a day is accepted, a millisecond more is not', async () => {
  for (const [jump, isReleased] of [
    [DAY, true],
    [DAY + 1, false],
  ] as const) {
    const { store, clock } = await freshStore()
    const id = await retained(store, clock, HOUR)
    clock.jump(jump)
    const outcome = await remove(store, 'bucket', 'key', id).then(
      () => true,
      () => false,
    )
    assert.equal(outcome, isReleased)
  }
})

test('P19: elapsed time ends retention, even after an unconfirmed jump', async () => {
  const { store, clock } = await freshStore()
  const id = await retained(store, clock, 2 * DAY)
  clock.jump(100 * DAY)
  clock.move(2 * DAY - 1)
  assert.equal(await faultOf(remove(store, 'bucket', 'key', id)), 'AccessDenied')
  clock.move(1)
  assert.equal((await remove(store, 'bucket', 'key', id)).removed?.id, id)
})

test('P19: a corrected clock needs no confirmation', async () => {
  const { store, clock } = await freshStore()
  const id = await retained(store, clock, 2 * DAY)
  clock.jump(100 * DAY)
  assert.equal(await faultOf(remove(store, 'bucket', 'key', id)), 'AccessDenied')
  clock.jump(-100 * DAY)
  clock.move(2 * DAY)
  assert.equal((await remove(store, 'bucket', 'key', id)).removed?.id, id)
})

test('P19: a server that was off for two weeks counts only the time it was running', async () => {
  const ground = await freshStore()
  const { clock } = ground
  const before = await retained(ground.store, clock, 7 * DAY)
  await ground.store.context.lockClock.mark()
  clock.jump(14 * DAY)
  const store = await openOn(ground)
  const { id } = await store.objects.put({ ...at, owner: OWNER, body: [payload(10)] })
  await remove(store, 'bucket', 'key', id)
  const lock = { hold: undefined, retention: { mode: 'governance', until: clock.now() + HOUR } } as const
  await store.objects.put({ ...at, owner: OWNER, body: [payload(10)], lock })
  assert.equal(await faultOf(remove(store, 'bucket', 'key', before)), 'AccessDenied')
  await store.context.lockClock.confirm(store.context)
  assert.equal((await remove(store, 'bucket', 'key', before)).removed?.id, before)
})

test('P19: a night off and a clock set back need no confirmation', async () => {
  const ground = await freshStore()
  const { clock } = ground
  const id = await retained(ground.store, clock, 5 * DAY)
  for (let night = 0; night < 5; night++) {
    clock.jump(23 * HOUR)
    const store = await openOn(ground)
    await store.context.lockClock.mark()
    clock.jump(-HOUR)
    assert.equal((await store.context.lockClock.state()).jumped, false)
    clock.move(2 * HOUR)
  }
  const store = await openOn(ground)
  assert.equal((await remove(store, 'bucket', 'key', id)).removed?.id, id)
})

test('P19: the mark does not follow a jump, however often it is written', async () => {
  const ground = await freshStore()
  const { clock } = ground
  const id = await retained(ground.store, clock, 30 * DAY)
  clock.jump(40 * DAY)
  for (let minute = 0; minute < 5; minute++) {
    await ground.store.context.lockClock.mark()
    clock.move(60_000)
  }
  const store = await openOn(ground)
  await store.context.lockClock.mark()
  assert.equal((await store.context.lockClock.state()).jumped, true)
  assert.equal(await faultOf(remove(store, 'bucket', 'key', id)), 'AccessDenied')
})

test('P19: a clock confirmed by one process is valid in the others', async () => {
  const ground = await freshStore()
  const { clock } = ground
  const other = await openOn(ground)
  const id = await retained(ground.store, clock, 30 * DAY)
  await other.context.lockClock.mark()
  clock.jump(40 * DAY)
  assert.equal(await faultOf(remove(other, 'bucket', 'key', id)), 'AccessDenied')
  await ground.store.context.lockClock.confirm(ground.store.context)
  assert.equal((await remove(other, 'bucket', 'key', id)).removed?.id, id)
})

test('P19: a clock that was ahead and is confirmed where it belongs lets no other process follow a jump', async () => {
  const ground = await freshStore()
  const { clock } = ground
  const other = await openOn(ground)
  clock.jump(1000 * DAY)
  await ground.store.context.lockClock.mark()
  await other.context.lockClock.mark()
  clock.jump(-1000 * DAY)
  await ground.store.context.lockClock.confirm(ground.store.context)
  const id = await retained(ground.store, clock, 30 * DAY)
  clock.jump(40 * DAY)
  for (const store of [ground.store, other]) {
    assert.equal(await faultOf(remove(store, 'bucket', 'key', id)), 'AccessDenied')
  }
})

test('P19: a clock jump is reported once per jump', async () => {
  const { store, clock } = await freshStore()
  const told: number[] = []
  const marker = new ClockCheckpointer(store.context, state => told.push(state.clock - state.lockTime))
  for (const jump of [0, 3 * DAY, 0, -3 * DAY, 0, 2 * DAY]) {
    clock.jump(jump)
    await marker.step()
  }
  assert.deepEqual(told, [3 * DAY, 2 * DAY])
})

test('P19: setting the clock back and then forward releases nothing', async () => {
  const { store, clock } = await freshStore()
  await store.context.lockClock.mark()
  clock.jump(-10 * HOUR)
  await store.context.lockClock.state()
  const id = await retained(store, clock, HOUR)
  clock.jump(100 * DAY)
  assert.equal(await faultOf(remove(store, 'bucket', 'key', id)), 'AccessDenied')
  clock.move(HOUR)
  assert.equal((await remove(store, 'bucket', 'key', id)).removed?.id, id)
})

test('P19: a jump right after the first lock was set, before any maintenance, releases nothing', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const lock = { hold: undefined, retention: { mode: 'compliance', until: clock.now() + HOUR } } as const
  const { id } = await store.objects.put({ ...at, owner: OWNER, body: [payload(10)], lock })
  clock.jump(100 * DAY)
  assert.equal(await faultOf(remove(store, 'bucket', 'key', id)), 'AccessDenied')
})

for (const { name, run } of ENGINES) {
  test(`${name}: P19 P26: default retention counts from the latest time that is known, whatever the clock says`, () =>
    run(async (store, clock) => {
      await store.buckets.create({ name: 'bucket', owner: OWNER, lockEnabled: true })
      await store.buckets.setLock('bucket', { mode: 'compliance', days: 10 })
      const until = async (key: string): Promise<number> => {
        const { lock } = await store.objects.put({ bucket: 'bucket', key, owner: OWNER, body: [payload(10)] })
        return lock.retention!.until
      }
      const start = clock.now()
      assert.equal(await until('before'), start + 10 * DAY)
      await store.context.lockClock.mark()
      clock.jump(-5000 * DAY)
      clock.move(HOUR)
      assert.equal(await until('behind'), start + HOUR + 10 * DAY)
      const from = { bucket: 'bucket', key: 'behind' }
      const { version } = await store.copies.copy({ from, to: { bucket: 'bucket', key: 'copy' }, owner: OWNER })
      assert.equal(version.lock.retention?.until, start + HOUR + 10 * DAY)
      const upload = await store.uploads.create({ bucket: 'bucket', key: 'parts', owner: OWNER, initiator: OWNER })
      const place = { bucket: 'bucket', key: 'parts', uploadId: upload.id.toString('hex') }
      const { etag } = await store.uploads.putPart({ ...place, number: 1, body: [payload(10)] })
      const made = await store.completion.complete({ ...place, parts: [{ number: 1, etag }] })
      assert.equal(made.lock.retention?.until, start + HOUR + 10 * DAY)
      // Once the clock is corrected, no retention ends early.
      clock.jump(5000 * DAY)
      clock.move(10 * DAY - 1)
      const { id } = await store.objects.head(from)
      assert.equal(await faultOf(remove(store, 'bucket', 'behind', id)), 'AccessDenied')
      clock.move(1)
      assert.equal((await remove(store, 'bucket', 'behind', id)).removed?.id, id)
    }))
}

test('P19 P26: a server that starts with its clock years behind shortens no default retention', async () => {
  const ground = await freshStore()
  const { clock } = ground
  await ground.store.buckets.create({ name: 'bucket', owner: OWNER, lockEnabled: true })
  await ground.store.buckets.setLock('bucket', { mode: 'compliance', days: 10 })
  await ground.store.context.lockClock.mark()
  const off = clock.now()
  clock.jump(-5000 * DAY)
  const store = await openOn(ground)
  const { lock, modifiedAt } = await store.objects.put({ ...at, owner: OWNER, body: [payload(10)] })
  assert.deepEqual([modifiedAt, lock.retention?.until], [clock.now(), off + 10 * DAY])
})

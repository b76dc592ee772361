import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ManualClock } from '../../src/lib/clock.ts'
import type { Lock } from '../../src/model/version.ts'
import type { Store } from '../../src/store/store.ts'
import { bytesOf, ENGINES, freshStore, makeBucket, OWNER, put, remove, verdict } from './fixture.ts'
import {
  abort,
  DAY_MS,
  days,
  held,
  keysOf,
  MARKERS,
  noncurrent,
  prefix,
  putWith,
  round,
  rule,
  setRules,
  versionsOf,
  wholeAfter,
} from './lifecycle-rules.ts'

const inEngines = (title: string, run: (store: Store, clock: ManualClock) => Promise<void>): void => {
  for (const engine of ENGINES) test(`${engine.name}: ${title}`, () => engine.run(run))
}

inEngines('without versions an object goes at midnight after its days, by the earliest rule', async (store, clock) => {
  await makeBucket(store, 'bucket')
  clock.move(10 * 3_600_000)
  await put(store, 'bucket', 'a', 'long')
  await put(store, 'bucket', 'logs/a', 'short')
  await put(store, 'bucket', 'tmp/a', 'off')
  await setRules(store, rule('', days(3)), rule(prefix('logs/'), days(1)), rule(prefix('tmp/'), days(1), 'Disabled'))
  clock.move(38 * 3_600_000 - 1)
  assert.equal((await round(store)).removed, 0)
  clock.move(1)
  const worker = await round(store)
  assert.deepEqual([worker.removed, worker.marked, worker.locked], [1, 0, 0])
  assert.deepEqual(await keysOf(store), ['a', 'tmp/a'])
  clock.move(2 * DAY_MS)
  await round(store)
  assert.deepEqual(await keysOf(store), [])
  await wholeAfter(store)
})

inEngines('tags, sizes and dates choose what goes', async (store, clock) => {
  await makeBucket(store, 'bucket')
  await putWith(store, 'a/blue', 5, [['colour', 'blue']])
  await putWith(store, 'a/red', 5, [['colour', 'red']])
  await putWith(store, 'b/blue', 5, [['colour', 'blue']])
  await putWith(store, 'large', 100)
  await putWith(store, 'medium', 50)
  await putWith(store, 'z/dated', 1)
  const blue = '<Tag><Key>colour</Key><Value>blue</Value></Tag>'
  await setRules(
    store,
    rule(`<And>${prefix('a/')}${blue}</And>`, days(1)),
    rule('<ObjectSizeGreaterThan>50</ObjectSizeGreaterThan>', days(1)),
    rule(prefix('z/'), '<Expiration><Date>2026-01-02T00:00:00Z</Date></Expiration>'),
  )
  clock.move(DAY_MS)
  await round(store)
  assert.deepEqual(await keysOf(store), ['a/red', 'b/blue', 'medium'])
  await wholeAfter(store)
})

inEngines('P11: with versions a marker hides what expired, and later the lone marker goes', async (store, clock) => {
  await makeBucket(store, 'bucket', 'on')
  await put(store, 'bucket', 'a', '1')
  clock.move(DAY_MS)
  await put(store, 'bucket', 'b', '2')
  await setRules(store, rule('', days(1)), rule('', noncurrent(1)))
  const worker = await round(store)
  assert.deepEqual([worker.marked, worker.removed], [1, 0])
  assert.deepEqual(await versionsOf(store), ['!a*', 'a', 'b*'])
  // The version has been noncurrent for a day; then the marker is alone and as old as an object that expires.
  clock.move(DAY_MS)
  const later = await round(store)
  assert.deepEqual([later.marked, later.removed], [1, 2])
  assert.deepEqual(await versionsOf(store), ['!b*', 'b'])
  await wholeAfter(store)
})

inEngines('suspended: what expires is replaced by a null marker, other versions stay', async (store, clock) => {
  await makeBucket(store, 'bucket', 'on')
  await put(store, 'bucket', 'a', 'named')
  await put(store, 'bucket', 'b', 'named')
  await store.buckets.setVersioning('bucket', 'suspended')
  await put(store, 'bucket', 'a', 'null')
  await setRules(store, rule('', days(1)))
  clock.move(DAY_MS)
  assert.equal((await round(store)).marked, 2)
  assert.deepEqual(await versionsOf(store), ['!a*', 'a', '!b*', 'b'])
  await wholeAfter(store)
})

inEngines('a rule on markers takes those that hide nothing, at once, and no others', async store => {
  await makeBucket(store, 'bucket', 'on')
  const lone = await put(store, 'bucket', 'lone', '1')
  await remove(store, 'bucket', 'lone')
  await remove(store, 'bucket', 'lone', lone.id)
  await put(store, 'bucket', 'hides', '1')
  await remove(store, 'bucket', 'hides')
  await remove(store, 'bucket', 'never')
  await remove(store, 'bucket', 'twice')
  await remove(store, 'bucket', 'twice')
  await setRules(store, rule('', MARKERS))
  assert.equal((await round(store)).removed, 2)
  assert.deepEqual(await versionsOf(store), ['!hides*', 'hides', '!twice*', '!twice'])
  await wholeAfter(store)
})

inEngines('noncurrent versions go so many days after the next one came, but the newest stay', async (store, clock) => {
  await makeBucket(store, 'bucket', 'on')
  for (let i = 0; i < 6; i++) {
    await put(store, 'bucket', 'kept/a', String(i))
    await put(store, 'bucket', 'plain/a', String(i))
    clock.move(DAY_MS)
  }
  await remove(store, 'bucket', 'plain/a')
  await setRules(store, rule(prefix('kept/'), noncurrent(1, 3)), rule(prefix('plain/'), noncurrent(2)))
  await round(store)
  const left = async (key: string): Promise<string[]> => {
    const { items } = await store.listing.versions({ bucket: 'bucket', prefix: key, limit: 100 })
    return Promise.all(
      items.map(async ({ version: { marker, id } }) =>
        marker ? '!' : (await bytesOf(store, { bucket: 'bucket', key, versionId: id })).toString(),
      ),
    )
  }
  // Five are noncurrent, created on days 0–4 and replaced on days 1–5; it is day 6.
  assert.deepEqual(await left('kept/a'), ['5', '4', '3', '2'])
  assert.deepEqual(await left('plain/a'), ['!', '5', '4'])
  clock.move(10 * DAY_MS)
  await round(store)
  assert.deepEqual(await left('kept/a'), ['5', '4', '3', '2'])
  assert.deepEqual(await left('plain/a'), ['!'])
  await wholeAfter(store)
})

inEngines('R67, R84: stale uploads are aborted by prefix, and nothing of them is left', async (store, clock) => {
  await makeBucket(store, 'bucket')
  const begin = async (key: string): Promise<string> => {
    const { id } = await store.uploads.create({ bucket: 'bucket', key, initiator: OWNER, owner: OWNER })
    const uploadId = id.toString('hex')
    await store.uploads.putPart({ bucket: 'bucket', key, uploadId, number: 1, body: [Buffer.alloc(9000)] })
    return uploadId
  }
  clock.move(1)
  const stale = await begin('big/a')
  await begin('other')
  await setRules(store, rule(prefix('big/'), abort(1)))
  clock.move(2 * DAY_MS - 2)
  assert.equal((await round(store)).aborted, 0)
  clock.move(1)
  assert.equal((await round(store)).aborted, 1)
  const name = { bucket: 'bucket', key: 'big/a', uploadId: stale }
  assert.equal(await verdict(store.completion.complete({ ...name, parts: [] })), 'NoSuchUpload')
  assert.deepEqual(
    (await store.listing.uploads({ bucket: 'bucket', limit: 10 })).items.map(({ key }) => key),
    ['other'],
  )
  await wholeAfter(store)
})

inEngines('P11: locked versions are skipped and counted, and go after their release', async (store, clock) => {
  await makeBucket(store, 'bucket', 'locked')
  const until = clock.now() + 5 * DAY_MS
  const lockedPut = (key: string, lock: Lock) =>
    store.objects.put({ bucket: 'bucket', key, owner: OWNER, body: [Buffer.from('x')], lock })
  const hold = await lockedPut('hold', held)
  await lockedPut('governance', { retention: { mode: 'governance', until }, hold: undefined })
  await lockedPut('compliance', { retention: { mode: 'compliance', until }, hold: undefined })
  await lockedPut('seen', held)
  for (const key of ['hold', 'governance', 'compliance']) await put(store, 'bucket', key, 'newer')
  await setRules(store, rule('', days(1)), rule('', noncurrent(1)))
  clock.move(DAY_MS)
  const worker = await round(store)
  // R39: a held object stays current; three newer ones got markers, and the three versions below them are locked.
  assert.deepEqual([worker.marked, worker.removed, worker.locked], [3, 0, 4])
  assert.deepEqual(await keysOf(store), ['seen'])
  await store.objects.setHold({ bucket: 'bucket', key: 'hold', versionId: hold.id }, false)
  await store.objects.setHold({ bucket: 'bucket', key: 'seen' }, false)
  clock.move(1)
  const again = await round(store, worker)
  assert.deepEqual([again.marked, again.removed, again.locked], [4, 1, 2])
  clock.move(5 * DAY_MS)
  const last = await round(store, worker)
  assert.equal(last.locked, 0)
  assert.deepEqual(await versionsOf(store), [])
  await wholeAfter(store)
})

test('rules are parsed once, also those of the longest document', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const references = '&quot;'.repeat(99_000)
  await setRules(store, rule(prefix(`${references}${'a'.repeat(1_000_000)}`), days(1)))
  const read = () => store.documents.lifecycleRules('bucket')
  assert.equal(await read(), await read())
})

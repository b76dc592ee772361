/** Usage counters: exact at every moment, under any load, and never a cause of conflicts. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import { UsageCounter } from '../../src/maintenance/count-usage.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { openLmdbMeta } from '../../src/meta/lmdb/lmdb.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import { type Meta, type MetaEngine, MetaFull, OutcomeUnknown } from '../../src/meta/meta.ts'
import { addCounters, addDelta, noUsage, usageIn, zeroCounters } from '../../src/model/usage.ts'
import { NO_PEERS } from '../../src/store/reclaim/reclamation-barrier.ts'
import { Store } from '../../src/store/store.ts'
import { usageOf } from '../../src/store/usage/usage.ts'
import { UsageCounters } from '../../src/store/usage/usage-counters.ts'
import { chance, faultOf, freshStore, makeBucket, openOn, put, remove, turn, unhurried, withFolder } from './fixture.ts'
import { changeSomething, makeBuckets } from './usage-operations.ts'
import { assertExact, usageRecordCount } from './usage-reference.ts'

const DRIVERS: readonly { name: string; run: (use: (meta: MetaEngine) => Promise<void>) => Promise<void> }[] = [
  { name: 'memory', run: async use => use(await openMemoryMeta()) },
  {
    name: 'lmdb',
    run: use =>
      withFolder(async folder => {
        const meta = await openLmdbMeta({ path: join(folder, 'meta'), durability: 'os' })
        try {
          await use(meta)
        } finally {
          await meta.close()
        }
      }),
  },
]

const ground = (meta: Meta, seed: number, disk = new MemoryDisk()) => ({
  disk,
  meta,
  clock: new ManualClock(),
  random: chance(seed),
})

const usage = async (store: Store, name: string) =>
  usageOf(store.context.meta, await store.buckets.get(name)).then(found => ({ ...found }))

for (const { name, run } of DRIVERS) {
  test(`${name}: counters equal a recount at any moment, with two writers that change the same keys at once`, () =>
    run(async meta => {
      const disk = new MemoryDisk()
      for (let seed = 1; seed <= 3; seed++) {
        // Commits are delayed and reordered, so that transactions conflict and are retried.
        const slow = unhurried(meta, chance(seed + 100))
        const base = ground(slow, seed, disk)
        const stores = [await openOn(base), await openOn({ ...base, random: chance(seed + 50) })]
        if (seed === 1) await makeBuckets(stores[0]!)
        let isOver = false
        const looking = (async () => {
          for (let look = 0; !isOver; look++) {
            await assertExact(meta, `seed ${seed}, look ${look}`)
            for (let turns = 0; turns < 20; turns++) await turn()
          }
        })()
        const hands = stores.flatMap((store, s) =>
          Array.from({ length: 4 }, async (_, hand) => {
            const random = chance(seed * 1000 + s * 10 + hand)
            for (let step = 0; step < 25; step++) await changeSomething(store, random)
          }),
        )
        await Promise.all(hands).finally(() => {
          isOver = true
        })
        await looking
        const found = await assertExact(meta, `seed ${seed}, at the end`)
        assert(found.get('versioned')!.versions > 0)
        assert.deepEqual((await fsck(stores[0]!.context)).problems, [])
      }
    }))
}

test('usage counts objects, versions, markers, bytes of both, open uploads and their parts', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'box', 'on')
  const at = { bucket: 'box', key: 'k', owner: 'owner' }
  const first = await put(store, 'box', 'k', 'four')
  await put(store, 'box', 'k', 'sixsix')
  await put(store, 'box', 'other', 'x')
  const three = { objects: 2, versions: 3, deleteMarkers: 0, bytes: 7, versionBytes: 11, uploads: 0, uploadBytes: 0 }
  assert.deepEqual(await usage(store, 'box'), three)
  const { marker } = await remove(store, 'box', 'k')
  assert.deepEqual(await usage(store, 'box'), { ...three, objects: 1, deleteMarkers: 1, bytes: 1 })
  await remove(store, 'box', 'k', marker!.id)
  assert.deepEqual(await usage(store, 'box'), three)
  await remove(store, 'box', 'k', first.id)
  const two = { ...three, versions: 2, versionBytes: 7 }
  assert.deepEqual(await usage(store, 'box'), two)
  const { id } = await store.uploads.create({ ...at, initiator: 'owner' })
  const upload = { bucket: 'box', key: 'k', uploadId: id.toString('hex') }
  await store.uploads.putPart({ ...upload, number: 1, body: [Buffer.alloc(100)] })
  await store.uploads.putPart({ ...upload, number: 2, body: [Buffer.alloc(30)] })
  const { etag } = await store.uploads.putPart({ ...upload, number: 1, body: [Buffer.alloc(50)] })
  assert.deepEqual(await usage(store, 'box'), { ...two, uploads: 1, uploadBytes: 80 })
  await store.completion.complete({ ...upload, parts: [{ number: 1, etag }] })
  assert.deepEqual(await usage(store, 'box'), { ...two, versions: 3, bytes: 51, versionBytes: 57 })
})

test('R100: once an abort is acknowledged its bytes no longer count, even with a concurrent part', async () => {
  const { store, meta } = await freshStore()
  await makeBucket(store, 'box')
  const create = async () => {
    const { id } = await store.uploads.create({ bucket: 'box', key: 'k', owner: 'owner', initiator: 'owner' })
    return { bucket: 'box', key: 'k', uploadId: id.toString('hex') }
  }
  const upload = await create()
  for (const number of [1, 2, 3]) await store.uploads.putPart({ ...upload, number, body: [Buffer.alloc(number * 10)] })
  assert.equal((await usage(store, 'box')).uploadBytes, 60)
  await store.uploads.abort(upload)
  assert.deepEqual({ ...(await usage(store, 'box')) }, noUsage())
  const another = await create()
  await store.uploads.putPart({ ...another, number: 1, body: [Buffer.alloc(10)] })
  // Between reading the parts and the commit that completes the upload.
  let isLate = true
  const late: Meta = {
    ...meta,
    get: key => meta.get(key),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    commit: tx => meta.commit(tx),
    close: () => meta.close(),
    scan: async (range, limit, reverse) => {
      const found = await meta.scan(range, limit, reverse)
      if (!isLate || range.start[0] !== 'p'.charCodeAt(0)) return found
      isLate = false
      await store.uploads.putPart({ ...another, number: 2, body: [Buffer.alloc(5)] })
      return found
    },
  }
  await store.forRequest(late).uploads.abort(another)
  assert.equal(isLate, false)
  assert.deepEqual({ ...(await usage(store, 'box')) }, noUsage())
})

test('commits of one bucket that run together do not conflict, and a refused one counts nothing', async () => {
  let refused = 0
  const { store } = await freshStore(1, meta => {
    const slow = unhurried(meta, chance(5))
    return {
      ...slow,
      commit: async tx => {
        const isTaken = await slow.commit(tx)
        if (!isTaken) refused++
        return isTaken
      },
    }
  })
  await makeBucket(store, 'box')
  await Promise.all(Array.from({ length: 64 }, (_, i) => put(store, 'box', `k${i}`, 'four')))
  assert.equal(refused, 0)
  assert.equal((await usage(store, 'box')).objects, 64)
  await Promise.all(Array.from({ length: 16 }, () => put(store, 'box', 'k0', 'twelve bytes')))
  assert(refused > 0)
  assert.deepEqual(await usage(store, 'box').then(({ objects, bytes }) => [objects, bytes]), [64, 63 * 4 + 12])
})

test('a full disk counts nothing; after an unknown outcome the counter record is left as it is', async () => {
  let fail: ((apply: () => Promise<boolean>) => Promise<boolean>) | undefined
  const meta = await openMemoryMeta()
  const failing: Meta = {
    get: key => meta.get(key),
    scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    commit: tx => (fail === undefined ? meta.commit(tx) : fail(() => meta.commit(tx))),
    close: () => meta.close(),
  }
  const store = await openOn(ground(failing, 1))
  await makeBucket(store, 'box')
  await put(store, 'box', 'one', 'four')
  fail = async () => {
    throw new MetaFull(new Error('no room'))
  }
  assert.equal(await faultOf(put(store, 'box', 'two', 'four')), 'InsufficientStorage')
  fail = undefined
  await put(store, 'box', 'three', 'four')
  await assertExact(meta, 'after a full disk')
  for (const isApplied of [true, false]) {
    fail = async apply => {
      if (isApplied) await apply()
      throw new OutcomeUnknown(new Error('cut off'))
    }
    await assert.rejects(put(store, 'box', `unknown ${isApplied}`, 'four'), OutcomeUnknown)
    fail = undefined
    await put(store, 'box', `after ${isApplied}`, 'four')
    await assertExact(meta, `after an unknown outcome, applied: ${isApplied}`)
  }
  assert.equal((await usage(store, 'box')).objects, 5)
})

test('sums beyond the safe integer range are exact again once they shrink', () => {
  const counters = zeroCounters()
  const copy = { ...noUsage(), objects: 1, bytes: 48_828_125 * 2 ** 20 + 1 }
  for (let i = 0; i < 1000; i++) addDelta(counters, copy, 1)
  assert(usageIn(counters).bytes > Number.MAX_SAFE_INTEGER)
  const other = zeroCounters()
  for (let i = 0; i < 998; i++) addDelta(other, copy, 1)
  addCounters(counters, other, -1)
  assert.deepEqual(usageIn(counters), { ...noUsage(), objects: 2, bytes: 2 * copy.bytes })
  addDelta(counters, { ...noUsage(), objects: 3 }, -1)
  assert.equal(usageIn(counters).objects, -1)
})

test('a process that caches few buckets continues its existing counters', async () => {
  const { store, meta } = await freshStore()
  const counters = new UsageCounters({ incarnation: 0, writer: store.context.ids.writer, bucketsMax: 2 })
  const few = Store.prototype.forRequest.call(
    Object.assign(Object.create(Store.prototype), { context: { ...store.context, usage: counters } }),
    store.context.meta,
  )
  const names = ['one', 'two', 'three', 'four', 'five']
  for (const name of names) await makeBucket(store, name)
  for (let round = 0; round < 4; round++) {
    await Promise.all(names.flatMap(name => [put(few, name, `k${round}`, 'four'), put(few, name, `l${round}`, 'x')]))
    for (const name of names) await put(few, name, `m${round}`, 'four')
  }
  const engine = { snapshot: () => (meta as MetaEngine).snapshot() }
  await assertExact(engine, 'after forgetting and reading again')
  // A base and two slots for each: released slots are reused, not leaked.
  assert.equal(await usageRecordCount(engine), names.length * 3)
})

test('counters of processes that are gone are folded, those of a removed bucket are removed', async () => {
  const meta = await openMemoryMeta()
  const base = ground(meta, 1)
  let store = await openOn(base)
  await makeBuckets(store)
  for (let life = 0; life < 5; life++) {
    store = await openOn({ ...base, random: chance(life + 10) })
    await Promise.all(Array.from({ length: 8 }, (_, i) => changeSomething(store, chance(life * 100 + i))))
    await Promise.all(['a', 'b', 'c', 'd'].map(key => put(store, 'versioned', key, `of life ${life}`)))
  }
  await makeBucket(store, 'short-lived')
  await put(store, 'short-lived', 'k', 'four')
  await remove(store, 'short-lived', 'k')
  await store.buckets.remove('short-lived')
  const before = await assertExact(meta, 'before')
  assert((await usageRecordCount(meta)) > 12)
  // The last process is still alive: its slot must not be removed during a commit.
  const alive = store.context.ids.writer
  const keeper = Store.open({
    ...{ ...base, blobs: store.context.blobs, keyring: store.context.keyring },
    ...{ ids: (await openOn({ ...base, random: chance(99) })).context.ids },
    others: { ...NO_PEERS, writers: async () => writer => writer.equals(alive) },
  })
  const worker = new UsageCounter(keeper.context, () => meta.snapshot())
  await runUntilIdle(worker)
  assert(worker.folded > 0)
  assert.deepEqual(await assertExact(meta, 'after folding'), before)
  await put(store, 'versioned', 'a', 'by the one that is alive')
  await assertExact(meta, 'after more work')
  const left = await usageRecordCount(meta)
  // Three bases, at most four slots in one bucket, and a few in the others for the live process.
  assert(left <= 3 + 4 + 8, `${left} records are left`)
})

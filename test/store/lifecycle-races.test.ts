/** Lifecycle under concurrency: changes between a read and its commit, races, failures, clock jumps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lifecycle } from '../../src/maintenance/lifecycle.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import { DamagedRecord } from '../../src/meta/meta.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { shortOrLong } from '../long.ts'
import { below, chance, freshStore, makeBucket, OWNER, put, remove, turn, unhurried, verdict } from './fixture.ts'
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
  wholeAfter,
} from './lifecycle-rules.ts'

test('an expiration is decided again at removal: rules and objects may have changed', async () => {
  for (const change of ['overwritten', 'rules gone', 'rule later', 'tags changed', 'bucket gone'] as const) {
    let during: (() => Promise<void>) | undefined
    const { store, clock } = await freshStore(1, meta => ({
      get: key => meta.get(key),
      scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
      scan: async (range, limit, reverse) => {
        const found = await meta.scan(range, limit, reverse)
        // The page of current objects has been read, and its objects are due.
        if (during !== undefined && found[0]?.key[0] === 'o'.charCodeAt(0)) {
          const act = during
          during = undefined
          await act()
        }
        return found
      },
      commit: tx => meta.commit(tx),
      close: () => meta.close(),
    }))
    await makeBucket(store, 'bucket')
    await putWith(store, 'a', 5, [['k', 'v']])
    await setRules(store, rule('<Tag><Key>k</Key><Value>v</Value></Tag>', days(1)))
    clock.move(DAY_MS)
    during = async () => {
      if (change === 'overwritten') await putWith(store, 'a', 6, [['k', 'v']])
      else if (change === 'rules gone') await store.documents.remove('bucket', 'lifecycle')
      else if (change === 'rule later') await setRules(store, rule('', days(30)))
      else if (change === 'tags changed') await store.objects.setTags({ bucket: 'bucket', key: 'a' }, [])
      else {
        await remove(store, 'bucket', 'a')
        await store.buckets.remove('bucket')
      }
    }
    const worker = await round(store)
    assert.equal(during, undefined, change)
    assert.equal(worker.removed, 0, change)
    if (change !== 'bucket gone') assert.deepEqual(await keysOf(store), ['a'], change)
  }
})

const ROUNDS = shortOrLong(60, 400, 'HOLDFAST_RACE_ROUNDS')

test('P20: a hold acknowledged before lifecycle runs is kept, in every schedule', async () => {
  const seen = new Set<string>()
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const random = chance(seed)
    const { store, clock } = await freshStore(seed)
    await makeBucket(store, 'bucket', 'locked')
    const { id } = await put(store, 'bucket', 'a', 'bytes')
    await put(store, 'bucket', 'a', 'newer')
    await setRules(store, rule('', noncurrent(1)))
    clock.move(DAY_MS)
    const slow = store.forRequest(unhurried(store.context.meta, random))
    const which = { bucket: 'bucket', key: 'a', versionId: id }
    const worker = new Lifecycle(slow.context)
    const walking = runUntilIdle(worker)
    for (let turns = below(random, 60); turns > 0; turns--) await turn()
    const answer = await verdict(slow.objects.setHold(which, true))
    await walking
    const there = await verdict(store.objects.head(which))
    assert.equal(there, answer === 'ok' ? 'ok' : 'NoSuchVersion', `seed ${seed}`)
    assert.equal(worker.removed, answer === 'ok' ? 0 : 1, `seed ${seed}`)
    seen.add(answer)
  }
  assert.deepEqual([...seen].sort(), ['NoSuchVersion', 'ok'], 'both orders happened')
})

test('a version that became one of the newest during its evaluation is kept', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket', 'on')
  const ids: string[] = []
  for (let i = 0; i < 4; i++) ids.push((await put(store, 'bucket', 'a', String(i))).id)
  await setRules(store, rule('', noncurrent(1, 2)))
  clock.move(DAY_MS)
  const { meta } = store.context
  let taken = false
  const between = store.forRequest({
    get: key => meta.get(key),
    scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    commit: async tx => {
      // Noncurrent versions are 2, 1 and 0; when 0 is about to be removed, the client removes 1.
      if (!taken) await remove(store, 'bucket', 'a', ids[1])
      taken = true
      return meta.commit(tx)
    },
    close: () => meta.close(),
  })
  assert.equal((await round(between)).removed, 0)
  assert.ok(taken)
  const left = (await store.listing.versions({ bucket: 'bucket', limit: 10 })).items.map(one => one.version.id)
  assert.deepEqual(left, [ids[3], ids[2], ids[0]])
  await wholeAfter(store)
})

test('a scan reads in pages, only under the prefixes of rules, and yields to requests', async () => {
  let read = 0
  const { store, clock } = await freshStore(1, meta => ({
    get: key => meta.get(key),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    scan: async (range, limit, reverse) => {
      const found = await meta.scan(range, limit, reverse)
      read += found.length
      assert.ok(found.length <= 1001)
      return found
    },
    commit: tx => meta.commit(tx),
    close: () => meta.close(),
  }))
  await makeBucket(store, 'bucket')
  for (let i = 0; i < 1200; i++) await put(store, 'bucket', `many/${i}`, '')
  for (let i = 0; i < 600; i++) await put(store, 'bucket', `old/${i}`, '')
  await setRules(store, rule(prefix('old/'), days(1)), rule(prefix('old/x'), days(1)), rule(prefix('none/'), abort(1)))
  clock.move(DAY_MS)
  read = 0
  const worker = new Lifecycle(store.context)
  let steps = 0
  while ((await worker.step()) === 'busy') {
    steps++
    assert.ok(worker.removed <= steps * 250, 'a step is bounded')
  }
  assert.equal(worker.removed, 600)
  assert.ok(steps >= 3 && steps < 10, `${steps} steps`)
  assert.ok(read < 700, `${read} records read`)
})

test('a round that fails starts over, and one bad object does not stop the others', async () => {
  const inner = await openMemoryMeta()
  let failing: 'scan' | 'commit' | undefined
  const { store, clock } = await freshStore(1, () => ({
    get: key => inner.get(key),
    scanMap: (range, limit, make) => inner.scanMap(range, limit, make),
    scan: async (range, limit, reverse) => {
      if (failing === 'scan') throw new Error('no answer')
      return inner.scan(range, limit, reverse)
    },
    commit: async tx => {
      if (failing === 'commit' && tx.writes.some(({ key }) => key.includes('bad'))) throw new Error('no luck')
      return inner.commit(tx)
    },
    close: () => inner.close(),
  }))
  await makeBucket(store, 'bucket')
  for (const key of ['a', 'bad', 'c']) await put(store, 'bucket', key, 'x')
  await setRules(store, rule('', days(1)))
  clock.move(DAY_MS)
  const worker = new Lifecycle(store.context)
  failing = 'scan'
  await assert.rejects(worker.step(), /no answer/)
  failing = 'commit'
  await runUntilIdle(worker)
  assert.deepEqual([worker.removed, worker.failures], [2, 1])
  assert.deepEqual(await keysOf(store), ['bad'])
  failing = undefined
  await runUntilIdle(worker)
  assert.deepEqual(await keysOf(store), [])
})

test('a bucket with damaged rules, and a key with a damaged version, do not stop the others', async () => {
  const damaged = new Set<string>()
  const check = (key: Buffer): void => {
    if (damaged.has(key.toString('hex'))) throw new DamagedRecord(key)
  }
  const { store, clock } = await freshStore(1, meta => ({
    get: key => {
      check(key)
      return meta.get(key)
    },
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    scan: async (range, limit, reverse) => {
      const found = await meta.scan(range, limit, reverse)
      for (const { key } of found) check(key)
      return found
    },
    commit: tx => meta.commit(tx),
    close: () => meta.close(),
  }))
  for (const bucket of ['a-bucket', 'an-older-bucket']) {
    await makeBucket(store, bucket)
    await store.documents.put(bucket, 'lifecycle', '<no rules')
  }
  damaged.add(recordKey.document('a-bucket', 'lifecycle').toString('hex'))
  await makeBucket(store, 'bucket', 'on')
  for (const key of ['bad', 'good']) {
    await put(store, 'bucket', key, 'old')
    await put(store, 'bucket', key, 'new')
  }
  const bad = await remove(store, 'bucket', 'bad-marker')
  await remove(store, 'bucket', 'good-marker')
  damaged.add(recordKey.current('bucket', 'bad').toString('hex'))
  damaged.add(recordKey.older('bucket', 'bad-marker', bad.marker!.seq).toString('hex'))
  await setRules(store, rule('', noncurrent(1)), rule('', MARKERS))
  clock.move(DAY_MS)
  const worker = new Lifecycle(store.context)
  for (let rounds = 1; rounds <= 2; rounds++) {
    await assert.rejects(runUntilIdle(worker), /rules of bucket a-bucket/)
    assert.equal(worker.removed, 2)
  }
  damaged.clear()
  await store.documents.remove('a-bucket', 'lifecycle')
  await assert.rejects(runUntilIdle(worker), /rules of bucket an-older-bucket/)
  assert.equal(worker.removed, 4)
  await store.documents.remove('an-older-bucket', 'lifecycle')
  await runUntilIdle(worker)
})

test('P19: after a clock jump nothing expires for a day, unless the clock is confirmed', async () => {
  for (const believed of ['confirmed', 'a day later'] as const) {
    const { store, clock } = await freshStore()
    await makeBucket(store, 'bucket')
    await put(store, 'bucket', 'a', 'x')
    await setRules(store, rule('', days(7)))
    const worker = await round(store)
    clock.jump(10 * DAY_MS)
    await round(store, worker)
    clock.move(DAY_MS - 1)
    await round(store, worker)
    assert.deepEqual(await keysOf(store), ['a'], believed)
    if (believed === 'confirmed') await store.context.lockClock.confirm(store.context)
    else clock.move(1)
    await round(store, worker)
    assert.deepEqual(await keysOf(store), [], believed)
  }
})

test('P11, P31: a version that lifecycle skips because of a lock is not recorded as a refused delete', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  await store.objects.put({ bucket: 'bucket', key: 'a', owner: OWNER, body: [Buffer.from('x')], lock: held })
  await put(store, 'bucket', 'a', 'newer')
  await setRules(store, rule('', days(1)), rule('', noncurrent(1)))
  const before = await store.ledger.entries('bucket')
  clock.move(DAY_MS)
  const worker = await round(store)
  assert.deepEqual([worker.marked, worker.locked], [1, 1])
  assert.deepEqual(await store.ledger.entries('bucket'), before)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ManualClock } from '../../src/lib/clock.ts'
import { openMemoryMeta } from '../../src/meta/memory.ts'
import type { Lock, Pairs } from '../../src/model/version.ts'
import { NO_ATTRIBUTES } from '../../src/model/version.ts'
import type { Store } from '../../src/store/store.ts'
import { Lifecycle } from '../../src/workers/lifecycle.ts'
import { runUntilIdle } from '../../src/workers/worker.ts'
import {
  assertWhole,
  below,
  bytesOf,
  chance,
  ENGINES,
  freshStore,
  makeBucket,
  OWNER,
  put,
  remove,
  settle,
  turn,
  unhurried,
  verdict,
} from './fixture.ts'

const DAY_MS = 86_400_000

const rule = (filter: string, action: string, status = 'Enabled'): string =>
  `<Rule><Status>${status}</Status><Filter>${filter}</Filter>${action}</Rule>`
const prefix = (text: string): string => `<Prefix>${text}</Prefix>`
const days = (count: number): string => `<Expiration><Days>${count}</Days></Expiration>`
const MARKERS = '<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>'
const abort = (count: number): string =>
  `<AbortIncompleteMultipartUpload><DaysAfterInitiation>${count}</DaysAfterInitiation></AbortIncompleteMultipartUpload>`
const noncurrent = (count: number, keep?: number): string =>
  `<NoncurrentVersionExpiration><NoncurrentDays>${count}</NoncurrentDays>` +
  `${keep === undefined ? '' : `<NewerNoncurrentVersions>${keep}</NewerNoncurrentVersions>`}` +
  '</NoncurrentVersionExpiration>'

const setRules = (store: Store, ...rules: string[]): Promise<void> =>
  store.documents.put('bucket', 'lifecycle', `<LifecycleConfiguration>${rules.join('')}</LifecycleConfiguration>`)

const keysOf = async (store: Store): Promise<string[]> =>
  (await store.listing.objects({ bucket: 'bucket', limit: 1000 })).items.map(({ key }) => key)

/** Every version as `key`, `key*` for the latest, `!` for a marker. */
async function versionsOf(store: Store): Promise<string[]> {
  const { items } = await store.listing.versions({ bucket: 'bucket', limit: 1000 })
  return items.map(({ key, version, latest }) => `${version.marker ? '!' : ''}${key}${latest ? '*' : ''}`)
}

const putWith = (store: Store, key: string, size: number, tags: Pairs = []) =>
  store.objects.put({
    bucket: 'bucket',
    key,
    owner: OWNER,
    body: [Buffer.alloc(size)],
    attributes: { ...NO_ATTRIBUTES, tags },
  })

const held: Lock = { retention: undefined, hold: true }

/** A round now. */
async function round(store: Store, worker = new Lifecycle(store.engine)): Promise<Lifecycle> {
  await runUntilIdle(worker)
  assert.equal(worker.failures, 0, String(worker.lastFailure))
  return worker
}

async function wholeAfter(store: Store): Promise<void> {
  await settle(store)
  await assertWhole(store)
}

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
  // The version has been behind the marker for a day; the marker is then alone and as old as an object that expires.
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
  // Five are noncurrent, made at days 0–4 and replaced at days 1–5; it is day 6.
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
  // R39: a held object stays in sight; three newer ones got markers, and the three behind them are locked.
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

test('what is due is judged again when it goes: rules and objects may have changed', async () => {
  for (const change of ['overwritten', 'rules gone', 'rule later', 'tags changed', 'bucket gone'] as const) {
    let during: (() => Promise<void>) | undefined
    const { store, clock } = await freshStore(1, meta => ({
      get: key => meta.get(key),
      scan: async (range, limit, reverse) => {
        const found = await meta.scan(range, limit, reverse)
        // The page of current objects has been read, and what it holds is due.
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

const ROUNDS = Number(process.env.HOLDFAST_RACE_ROUNDS ?? 150)

test('P20: a hold that was acknowledged before lifecycle came is kept, in every schedule', async () => {
  const seen = new Set<string>()
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const random = chance(seed)
    const { store, clock } = await freshStore(seed)
    await makeBucket(store, 'bucket', 'locked')
    const { id } = await put(store, 'bucket', 'a', 'bytes')
    await put(store, 'bucket', 'a', 'newer')
    await setRules(store, rule('', noncurrent(1)))
    clock.move(DAY_MS)
    const slow = store.through(unhurried(store.engine.meta, random))
    const which = { bucket: 'bucket', key: 'a', versionId: id }
    const worker = new Lifecycle(slow.engine)
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

test('a version that became one of the newest while it was being judged stays', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket', 'on')
  const ids: string[] = []
  for (let i = 0; i < 4; i++) ids.push((await put(store, 'bucket', 'a', String(i))).id)
  await setRules(store, rule('', noncurrent(1, 2)))
  clock.move(DAY_MS)
  const { meta } = store.engine
  let taken = false
  const between = store.through({
    get: key => meta.get(key),
    scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
    commit: async tx => {
      // Behind the current one stand 2, 1 and 0; when 0 is about to go, the client takes 1 away.
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

test('a walk is made of pages, reads only under the prefixes of rules, and lets others go first', async () => {
  let read = 0
  const { store, clock } = await freshStore(1, meta => ({
    get: key => meta.get(key),
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
  const worker = new Lifecycle(store.engine)
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
  const worker = new Lifecycle(store.engine)
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

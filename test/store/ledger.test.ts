import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineUnavailable } from '../../src/lib/engine-unavailable.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { openLmdbMeta } from '../../src/meta/lmdb/lmdb.ts'
import type { Meta } from '../../src/meta/meta.ts'
import { type Actor, ledgerIndexFormat, STORE_LEDGER } from '../../src/model/ledger.ts'
import type { Lock } from '../../src/model/version.ts'
import { lockForLedger } from '../../src/rules/ledger.ts'
import { isBucketName } from '../../src/rules/naming.ts'
import { verifyLedger } from '../../src/rules/suite-ledger.ts'
import { recordKey as address } from '../../src/store/commit/record-keys.ts'
import { TRANSACTION_MS_MAX, TransactionDeadline } from '../../src/store/commit/transaction-deadline.ts'
import type { Store } from '../../src/store/store.ts'
import {
  ENGINES,
  faultOf,
  freshStore,
  makeBucket,
  OWNER,
  openOn,
  payload,
  put,
  remove,
  turn,
  verdict,
  withFolder,
} from './fixture.ts'

const at = { bucket: 'bucket', key: 'key' }
const ALICE: Actor = { account: '111111111111', user: 'alice', accessKey: 'AKALICE', request: 'R1' }
const BOB: Actor = { account: '222222222222', accessKey: 'AKBOB', request: 'R2' }

const as = (store: Store, actor: Actor): Store => store.forRequest(store.context.meta, actor)

/** The entries in short form. */
async function told(store: Store, bucket = 'bucket'): Promise<unknown[][]> {
  return (await store.ledger.entries(bucket)).map(({ what, by, ...rest }) => {
    const version = 'key' in rest ? rest.key : ''
    const extra = 'reason' in rest ? [rest.reason] : 'bypass' in rest && rest.bypass ? ['bypass'] : []
    return [what, version, by.user ?? by.account, ...extra]
  })
}

async function exported(store: Store, bucket = 'bucket'): Promise<string[]> {
  const lines: string[] = []
  for await (const line of store.ledger.export(bucket)) lines.push(line)
  return lines
}

const withCommit = (meta: Meta, commit: Meta['commit']): Meta => ({
  get: key => meta.get(key),
  scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
  scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
  commit,
  close: () => meta.close(),
})

for (const { name, run } of ENGINES) {
  test(`${name}: P31: every change, bypass and refusal is in the ledger, with actor, before and after`, () =>
    run(async (store, clock) => {
      const [alice, bob] = [as(store, ALICE), as(store, BOB)]
      await alice.buckets.create({ name: 'bucket', owner: OWNER, lockEnabled: true })
      await alice.buckets.setLock('bucket', { mode: 'governance', days: 2 })
      await alice.buckets.setLock('bucket', { mode: 'governance', days: 2 })
      const { id } = await put(alice, 'bucket', 'key', 'bytes')
      const which = { ...at, versionId: id }
      await bob.objects.setHold(which, true)
      await bob.objects.setHold(which, true)
      assert.equal(await faultOf(remove(alice, 'bucket', 'key', id)), 'AccessDenied')
      assert.equal(await faultOf(alice.objects.remove({ ...at, owner: OWNER, keepHeld: true })), 'AccessDenied')
      await alice.objects.setHold(which, false)
      assert.equal(await faultOf(alice.objects.setRetention(which, undefined)), 'AccessDenied')
      const retention = { mode: 'governance', until: clock.now() + 1000 } as const
      await bob.objects.setRetention(which, retention, { bypass: true })
      await bob.objects.remove({ ...which, owner: OWNER, rights: { bypass: true } })
      await alice.buckets.remove('bucket')
      assert.deepEqual(await told(store), [
        ['configuration', '', 'alice'],
        ['configuration', '', 'alice'],
        ['hold', 'key', '222222222222'],
        ['delete refused', 'key', 'alice', 'held'],
        ['delete refused', 'key', 'alice', 'held'],
        ['hold', 'key', 'alice'],
        ['retention refused', 'key', 'alice', 'governance'],
        ['retention', 'key', '222222222222', 'bypass'],
        ['removed', 'key', '222222222222', 'bypass'],
        ['bucket removed', '', 'alice'],
      ])
      const [, , held] = await store.ledger.entries('bucket')
      const until = new Date(clock.now() + 2 * 86_400_000).toISOString()
      const shown = { mode: 'governance', until }
      assert.deepEqual(held, {
        sequence: 3,
        time: new Date(clock.now()).toISOString(),
        what: 'hold',
        key: 'key',
        versionId: id,
        before: { hold: null, retention: shown },
        after: { hold: 'ON', retention: shown },
        by: BOB,
        previous: held!.previous,
      })
      assert.equal((await store.ledger.verify('bucket')).problem, undefined)
      assert.deepEqual((await fsck(store.context)).problems, [])
    }))
}

test('P31: a version created with a requested lock is recorded, one with default retention is not', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  await store.buckets.setLock('bucket', { mode: 'compliance', days: 1 })
  const lock: Lock = { hold: true, retention: { mode: 'governance', until: clock.now() + 1000 } }
  await store.objects.put({ ...at, owner: OWNER, body: [payload(10)], lock })
  await put(store, 'bucket', 'plain', 'default')
  await store.copies.copy({ from: at, to: { bucket: 'bucket', key: 'copy' }, owner: OWNER, lock })
  await store.copies.copy({ from: at, to: { bucket: 'bucket', key: 'plain copy' }, owner: OWNER })
  const begun = await store.uploads.create({ bucket: 'bucket', key: 'parts', initiator: OWNER, owner: OWNER, lock })
  const upload = { bucket: 'bucket', key: 'parts', uploadId: begun.id.toString('hex') }
  const part = await store.uploads.putPart({ ...upload, number: 1, body: [payload(10)] })
  await store.completion.complete({ ...upload, parts: [part] })
  const entries = (await store.ledger.entries('bucket')).slice(2)
  assert.deepEqual(
    entries.map(entry => [entry.what, 'key' in entry && entry.key]),
    [
      ['created', 'key'],
      ['created', 'copy'],
      ['created', 'parts'],
    ],
  )
  const { before, after } = entries[0] as unknown as { before: unknown; after: unknown }
  const until = new Date(clock.now() + 1000).toISOString()
  assert.deepEqual([before, after], [null, { hold: 'ON', retention: { mode: 'governance', until } }])
})

test('P31: a removed bucket keeps its ledger, and a new bucket of that name continues it', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  await store.buckets.remove('bucket')
  const before = verifyLedger(await exported(store), { publicKey: store.ledger.publicKey })
  assert.deepEqual([before.problem, before.entries], [undefined, 2])
  await makeBucket(store, 'bucket', 'on')
  await store.buckets.setLock('bucket', undefined)
  const [first, , third] = await store.ledger.entries('bucket')
  assert('bucketId' in first! && 'bucketId' in third! && first.bucketId !== third.bucketId)
  const verdict = await store.ledger.verify('bucket', { entries: before.entries, last: before.last! })
  assert.deepEqual([verdict.problem, verdict.entries], [undefined, 3])
  assert.deepEqual(await store.ledger.buckets(), ['bucket'])
})

test('P31: a bucket without lock changes has an empty ledger, an unknown bucket has none', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  assert.equal(verifyLedger(await exported(store)).problem, undefined)
  assert.equal(await faultOf(store.ledger.verify('nowhere')), 'NoSuchBucket')
})

test('P31: verify and fsck find a tampered ledger, and nothing of it gets signed', async () => {
  const older = new Map<Meta, Buffer>()
  const alter: Readonly<Record<string, (store: Store) => Promise<void>>> = {
    'an entry altered': async ({ context: { meta } }) => {
      const entry = (await meta.get(address.ledgerEntry('bucket', 2)))!
      const value = Buffer.from(entry.value.toString('latin1').replace('"ON"', '"OF"'), 'latin1')
      await meta.commit({ checks: [], writes: [{ key: entry.key, value }] })
    },
    'an entry gone': async ({ context: { meta } }) => {
      await meta.commit({ checks: [], writes: [{ key: address.ledgerEntry('bucket', 2), value: undefined }] })
    },
    'the last entry gone': async ({ context: { meta } }) => {
      await meta.commit({ checks: [], writes: [{ key: address.ledgerEntry('bucket', 3), value: undefined }] })
    },
    'the end gone': async ({ context: { meta } }) => {
      await meta.commit({ checks: [], writes: [{ key: address.ledgerHead('bucket'), value: undefined }] })
    },
    'an older end put back': async ({ context: { meta } }) => {
      await meta.commit({ checks: [], writes: [{ key: address.ledgerHead('bucket'), value: older.get(meta)! }] })
    },
    'everything gone': async ({ context: { meta } }) => {
      const keys = [1, 2, 3].map(sequence => address.ledgerEntry('bucket', sequence))
      const writes = [address.ledgerHead('bucket'), ...keys].map(key => ({ key, value: undefined }))
      await meta.commit({ checks: [], writes })
    },
    'the end of another ledger': async ({ context: { meta } }) => {
      const other = (await meta.get(address.ledgerHead('other')))!
      await meta.commit({ checks: [], writes: [{ key: address.ledgerHead('bucket'), value: other.value }] })
    },
  }
  for (const [name, change] of Object.entries(alter)) {
    const { store } = await freshStore()
    for (const bucket of ['bucket', 'other']) {
      await makeBucket(store, bucket, 'locked')
      await put(store, bucket, 'key', 'bytes')
      await store.objects.setHold({ bucket, key: 'key' }, true)
      const { meta } = store.context
      if (bucket === 'bucket') older.set(meta, (await meta.get(address.ledgerHead(bucket)))!.value)
      await store.objects.setHold({ bucket, key: 'key' }, false)
    }
    assert.deepEqual((await fsck(store.context)).problems, [])
    await change(store)
    assert((await store.ledger.verify('bucket')).problem !== undefined, name)
    assert.match((await fsck(store.context)).problems.join(), /ledger of bucket/, name)
    await assert.rejects(exported(store), /the ledger of bucket/, name)
  }
})

test('P31: removing the head of a ledger does not cause entries to be overwritten', async () => {
  const { store } = await freshStore()
  const { meta } = store.context
  await makeBucket(store, 'bucket', 'locked')
  const head = (await meta.get(address.ledgerHead('bucket')))!
  await put(store, 'bucket', 'key', 'bytes')
  await store.objects.setHold(at, true)
  const held = await meta.get(address.ledgerEntry('bucket', 2))
  for (const value of [undefined, head.value]) {
    await meta.commit({ checks: [], writes: [{ key: head.key, value }] })
    await assert.rejects(store.objects.setHold(at, false), /has entries after its signed head/)
    assert.equal((await store.objects.head(at)).lock.hold, true)
    assert.deepEqual(await meta.get(address.ledgerEntry('bucket', 2)), held)
    // Operations without an entry still work.
    await put(store, 'bucket', 'key', 'more')
    await remove(store, 'bucket', 'key', (await store.objects.head(at)).id)
  }
})

test('P24 P31: a store set back to an older state does not continue a later export', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const head = (await store.context.meta.get(address.ledgerHead('bucket')))!
  await put(store, 'bucket', 'key', 'bytes')
  await store.objects.setHold(at, true)
  const kept = verifyLedger(await exported(store))
  const entry = { key: address.ledgerEntry('bucket', 2), value: undefined }
  await store.context.meta.commit({ checks: [], writes: [{ key: head.key, value: head.value }, entry] })
  assert.equal((await store.ledger.verify('bucket')).problem, undefined)
  const { problem } = await store.ledger.verify('bucket', { entries: kept.entries, last: kept.last! })
  assert.match(problem?.reason ?? '', /truncated/)
})

test('P31: the ledger shows since when and by whom a version is held', async () => {
  const { store, clock } = await freshStore()
  const [alice, bob] = [as(store, ALICE), as(store, BOB)]
  await makeBucket(store, 'bucket', 'locked')
  const { id } = await put(store, 'bucket', 'key', 'bytes')
  const version = { key: 'key', versionId: id }
  assert.equal(await store.ledger.heldSince('bucket', version), undefined)
  await alice.objects.setHold({ bucket: 'bucket', ...version }, true)
  const since = new Date(clock.now()).toISOString()
  clock.move(1000)
  await bob.objects.setRetention({ bucket: 'bucket', ...version }, { mode: 'governance', until: clock.now() + 1000 })
  assert.equal(await faultOf(remove(bob, 'bucket', 'key', id)), 'AccessDenied')
  await put(store, 'bucket', 'key', 'over it')
  assert.deepEqual(await store.ledger.heldSince('bucket', version), { time: since, by: ALICE, sequence: 2 })
  await bob.objects.setHold({ bucket: 'bucket', ...version }, false)
  assert.equal(await store.ledger.heldSince('bucket', version), undefined)
  await bob.objects.setHold({ bucket: 'bucket', ...version }, true)
  assert.deepEqual((await store.ledger.heldSince('bucket', version))?.by, BOB)
  const changes: string[] = []
  for await (const { what } of store.ledger.changesOf('bucket', version)) changes.push(what)
  assert.deepEqual(changes, ['hold', 'hold', 'retention', 'hold'])
})

test('P31: the holder of a version is found behind any number of other entries', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const { id } = await put(store, 'bucket', 'key', 'bytes')
  const version = { key: 'key', versionId: id }
  const which = { bucket: 'bucket', ...version }
  await as(store, ALICE).objects.setHold(which, true)
  const bob = as(store, BOB)
  for (let i = 1; i <= 600; i++) {
    assert.equal(await faultOf(remove(bob, 'bucket', 'key', id)), 'AccessDenied')
    await bob.objects.setRetention(which, { mode: 'compliance', until: clock.now() + i * 1000 })
  }
  const held = await store.ledger.heldSince('bucket', version)
  assert.deepEqual([held?.by, held?.sequence], [ALICE, 2])
  // As in stores written by older versions: every refusal among the changes.
  const value = ledgerIndexFormat.encode({})
  for (const { sequence, what } of await store.ledger.entries('bucket', 0, 2000)) {
    if (what !== 'delete refused') continue
    const key = address.ledgerIndex('bucket', 'key', id, sequence)
    assert.equal(await store.context.meta.get(key), undefined)
    await store.context.meta.commit({ checks: [], writes: [{ key, value }] })
  }
  assert.equal((await store.ledger.heldSince('bucket', version))?.sequence, 2)
})

test('P31: a flood of refused deletes costs few commits and loses none of them', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const ids: string[] = []
  for (let i = 0; i < 4; i++) {
    const version = await put(store, 'bucket', 'key', `${i}`)
    await store.objects.setHold({ ...at, versionId: version.id }, true)
    ids.push(version.id)
  }
  let commits = 0
  const { meta } = store.context
  const counting = withCommit(meta, async tx => {
    commits++
    // A commit takes time: later arrivals wait for the next.
    for (let turns = 0; turns < 20; turns++) await turn()
    return meta.commit(tx)
  })
  const flood = store.forRequest(counting, ALICE)
  const answers = await Promise.all(
    Array.from({ length: 400 }, (_, i) => verdict(remove(flood, 'bucket', 'key', ids[i % ids.length]))),
  )
  assert(answers.every(answer => answer === 'AccessDenied'))
  const refused = (await store.ledger.entries('bucket', 0, 1000)).filter(({ what }) => what === 'delete refused')
  assert.equal(
    refused.reduce((sum, entry) => sum + ('times' in entry ? (entry.times ?? 1) : 1), 0),
    400,
  )
  assert(refused.length < 20 && commits < 20, `${refused.length} entries, ${commits} commits`)
  assert.equal((await store.ledger.verify('bucket')).problem, undefined)
})

test('P31: a refusal whose request expired in the queue does not fail later ones', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const { id } = await put(store, 'bucket', 'key', 'bytes')
  await store.objects.setHold({ ...at, versionId: id }, true)
  const { meta } = store.context
  let recover = (): void => {}
  const outage = new Promise<void>(resolve => {
    recover = resolve
  })
  const halted = withCommit(meta, tx => outage.then(() => meta.commit(tx)))
  const lock: Lock = { hold: true, retention: undefined }
  const body = [payload(10)]
  const first = store.forRequest(halted, BOB).objects.put({ bucket: 'bucket', key: 'other', owner: OWNER, body, lock })
  for (let turns = 0; turns < 20; turns++) await turn()
  const late = store.forRequest(halted, ALICE, undefined, new TransactionDeadline(clock))
  const expired = assert.rejects(remove(late, 'bucket', 'key', id), EngineUnavailable)
  for (let turns = 0; turns < 20; turns++) await turn()
  clock.move(TRANSACTION_MS_MAX)
  recover()
  await Promise.all([first, expired])
  assert.equal(await faultOf(remove(as(store, ALICE), 'bucket', 'key', id)), 'AccessDenied')
  assert.deepEqual((await told(store)).at(-1), ['delete refused', 'key', 'alice', 'held'])
})

test('P31: lock changes that arrive together share commits, and each is there', async () => {
  await withFolder(async folder => {
    const meta = await openLmdbMeta({ path: folder, durability: 'os' })
    const { disk, clock, random } = await freshStore()
    const store = await openOn({ disk, clock, random, meta })
    await makeBucket(store, 'bucket', 'locked')
    const keys = Array.from({ length: 200 }, (_, i) => `k${i}`)
    const lock: Lock = { hold: true, retention: undefined }
    await Promise.all(
      keys.map(key => store.objects.put({ bucket: 'bucket', key, owner: OWNER, body: [payload(10)], lock })),
    )
    await Promise.all(keys.map(key => store.objects.setHold({ bucket: 'bucket', key }, false)))
    // All on one version: each sees the state that the previous one left.
    await Promise.all(keys.map((_, i) => store.objects.setHold({ bucket: 'bucket', key: 'k0' }, i % 2 === 0)))
    const entries = await store.ledger.entries('bucket', 0, 1000)
    assert.equal(entries.filter(({ what }) => what === 'created').length, 200)
    const others = entries.filter(entry => entry.what === 'hold' && entry.key !== 'k0')
    assert.equal(others.length, 199)
    // Newest first: each starts where the previous one ended, and the last is the version's state.
    const { id, lock: left } = await store.objects.head({ bucket: 'bucket', key: 'k0' })
    let after: unknown = lockForLedger(left)
    for await (const entry of store.ledger.changesOf('bucket', { key: 'k0', versionId: id })) {
      assert.deepEqual(entry.after, after)
      after = entry.before
    }
    assert.equal(after, null)
    assert.equal((await store.ledger.verify('bucket')).problem, undefined)
    await meta.close()
  })
})

test('P19 P31: the confirmation of the clock is recorded with its actor in the same commit', async () => {
  const { store, clock } = await freshStore()
  const empty = await exported(store, STORE_LEDGER)
  assert.deepEqual([verifyLedger(empty).problem, verifyLedger(empty).entries], [undefined, 0])
  const before = await store.context.lockClock.now()
  clock.jump(30 * 86_400_000)
  const alice = as(store, ALICE)
  await alice.context.lockClock.confirm(alice.context)
  const lines = await exported(store, STORE_LEDGER)
  assert.deepEqual([verifyLedger(lines).problem, verifyLedger(lines).entries], [undefined, 1])
  const [entry] = await store.ledger.entries(STORE_LEDGER)
  const shown = (time: number) => ({ lockTime: new Date(time).toISOString() })
  const told = { what: 'clock confirmed', before: shown(before), after: shown(clock.now()), by: ALICE }
  assert.deepEqual(entry, { ...entry, ...told })
  assert.deepEqual((await fsck(store.context)).problems, [])
  assert.deepEqual(await store.ledger.buckets(), [STORE_LEDGER])
  assert(!isBucketName(STORE_LEDGER))
  // Without its entry it has no effect.
  const meta = store.context.meta as { commit: Meta['commit'] }
  meta.commit = async () => assert.fail('the disk does not answer')
  clock.jump(30 * 86_400_000)
  const waiting = await store.context.lockClock.now()
  await assert.rejects(alice.context.lockClock.confirm(alice.context), /does not answer/)
  assert.equal(await store.context.lockClock.now(), waiting)
})

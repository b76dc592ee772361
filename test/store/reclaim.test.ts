import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fsck } from '../../src/maintenance/fsck.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { DamagedRecord, type Entry, type Meta } from '../../src/meta/meta.ts'
import { blobFormat } from '../../src/model/content.ts'
import { garbageFormat } from '../../src/model/garbage.ts'
import { keyRanges, recordKey } from '../../src/store/commit/record-keys.ts'
import type { Store } from '../../src/store/store.ts'
import { assertWhole, bytesOf, freshStore, makeBucket, OWNER, payload, put, remove, settle } from './fixture.ts'

const COUNT = 10

const garbageOf = async ({ context }: Store): Promise<readonly Entry[]> => context.meta.scan(keyRanges.kind('g'), 1000)
const blobsOf = async ({ context }: Store): Promise<readonly Entry[]> => context.meta.scan(keyRanges.kind('b'), 1000)

/** Ten objects in files of their own, all removed: ten garbage records. */
async function litter(store: Store): Promise<readonly Entry[]> {
  await makeBucket(store, 'bucket')
  for (let n = 0; n < COUNT; n++) await put(store, 'bucket', `key-${n}`, payload(70_000, n))
  const blobs = await blobsOf(store)
  for (let n = 0; n < COUNT; n++) await remove(store, 'bucket', `key-${n}`)
  assert.equal((await garbageOf(store)).length, COUNT)
  return blobs
}

test('garbage that cannot be freed is reported and kept, without delaying the rest', async () => {
  for (const bad of [0, 4, COUNT - 1]) {
    const { store } = await freshStore()
    const blob = (await litter(store))[bad]!
    const { meta } = store.context
    await meta.commit({ checks: [], writes: [{ key: blob.key, value: undefined }] })
    const reclaimer = new Reclaimer(store.context)
    await runUntilIdle(reclaimer)
    assert.equal((await garbageOf(store)).length, 1)
    assert.deepEqual(await blobsOf(store), [])
    assert.ok(reclaimer.failures > 0)
    assert.equal((reclaimer.lastFailure as Error).name, 'BrokenReference')
    // Once repaired, it is reclaimed as well.
    await meta.commit({ checks: [], writes: [{ key: blob.key, value: blob.value }] })
    await runUntilIdle(reclaimer)
    await settle(store)
    await assertWhole(store)
  }
})

test('a step ends early where freeing takes long, and the next one goes on', async () => {
  const { store, clock } = await freshStore()
  await litter(store)
  const { blobs } = store.context
  const remove = blobs.remove.bind(blobs)
  blobs.remove = async (id, location) => {
    clock.move(1_000)
    await remove(id, location)
  }
  const reclaimer = new Reclaimer(store.context)
  assert.equal(await reclaimer.step(), 'busy')
  assert.equal((await garbageOf(store)).length, COUNT - 8)
  await runUntilIdle(reclaimer)
  assert.equal((await garbageOf(store)).length, 0)
  await assertWhole(store)
})

test('the garbage of one process does not wait for another process that always adds some', async () => {
  const { store } = await freshStore()
  const { meta } = store.context
  // Ids begin with the process that made them.
  const add = (writer: number, count: number): Promise<boolean> => {
    const key = recordKey.garbage(Buffer.alloc(16).fill(writer, 0, 6).fill(count, 6))
    return meta.commit({ checks: [], writes: [{ key, value: garbageFormat.encode({ kind: 'slices', slices: [] }) }] })
  }
  const ofFirst = async (): Promise<number> => (await garbageOf(store)).filter(({ key }) => key[1] === 1).length
  const reclaimer = new Reclaimer(store.context)
  await add(2, 0)
  assert.equal(await reclaimer.step(), 'busy')
  await add(1, 0)
  let steps = 0
  while ((await ofFirst()) > 0) {
    assert.ok(++steps <= 3, `still there after ${steps - 1} steps`)
    await add(2, steps)
    assert.equal(await reclaimer.step(), 'busy')
  }
})

test('packed blobs are counted when they are freed, also several at once', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const keys = Array.from({ length: 2 * COUNT }, (_, n) => `key-${n}`)
  for (const [n, key] of keys.entries()) await put(store, 'bucket', key, payload(5_000 + n, n))
  await put(store, 'bucket', 'in a file of its own', payload(70_000))
  const reclaimer = new Reclaimer(store.context)
  for (const key of [...keys, 'in a file of its own']) await remove(store, 'bucket', key)
  await runUntilIdle(reclaimer)
  const total = keys.reduce((sum, _, n) => sum + 5_000 + n, 0)
  assert.equal(reclaimer.packedBytesFreed, total)
})

/** Scans that reach this record fail, as those of a driver do. */
function damaging(meta: Meta, bad: () => Buffer | undefined): Meta {
  return {
    get: key => meta.get(key),
    commit: tx => meta.commit(tx),
    close: () => meta.close(),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    scan: async (range, limit, reverse) => {
      const found = await meta.scan(range, limit, reverse)
      const key = bad()
      if (key !== undefined && found.some(entry => entry.key.equals(key))) throw new DamagedRecord(key)
      return found
    },
  }
}

test('a damaged garbage record does not delay the others', async () => {
  for (const which of [0, 4, COUNT - 1]) {
    let bad: Buffer | undefined
    const { store } = await freshStore(1, meta => damaging(meta, () => bad))
    await litter(store)
    const damaged = (await garbageOf(store))[which]!
    bad = damaged.key
    const reclaimer = new Reclaimer(store.context)
    await runUntilIdle(reclaimer)
    assert.equal((await blobsOf(store)).length, 1)
    assert.ok(reclaimer.failures > 0)
    assert.equal((reclaimer.lastFailure as Error).name, 'DamagedRecord')
    bad = undefined
    assert.deepEqual(
      (await garbageOf(store)).map(({ key }) => key),
      [damaged.key],
    )
    await settle(store)
    await assertWhole(store)
  }
})

test('bytes with fewer counted references than holders are not freed', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const from = { bucket: 'bucket', key: 'source' }
  await put(store, 'bucket', 'source', payload(70_000))
  const to = { bucket: 'bucket', key: 'key' }
  const { id } = await store.uploads.create({ ...to, initiator: OWNER, owner: OWNER })
  const upload = { ...to, uploadId: id.toString('hex') }
  for (const number of [1, 2]) await store.uploads.copyPart({ ...upload, number, from })
  const [entry] = await blobsOf(store)
  const record = blobFormat.decode(entry!.value)
  assert.equal(record.referenceCount, 3)
  const tooFew = blobFormat.encode({ ...record, referenceCount: 1 })
  await store.context.meta.commit({ checks: [], writes: [{ key: entry!.key, value: tooFew }] })
  await store.uploads.abort(upload)
  const reclaimer = new Reclaimer(store.context)
  await runUntilIdle(reclaimer)
  assert.match(String(reclaimer.lastFailure), /fewer references counted than held/)
  assert.ok((await bytesOf(store, from)).equals(payload(70_000)))
  assert.notDeepEqual((await fsck(store.context)).problems, [])
})

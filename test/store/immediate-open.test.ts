/** Opening an object without a promise: either all of it, or nothing that stays behind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entry, Meta } from '../../src/meta/meta.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import { ImmediateOpen } from '../../src/store/objects/immediate-open.ts'
import { collect, ENGINES, type Fresh, freshStore, makeBucket, OWNER, payload, put } from './fixture.ts'

const opening = ({ store }: Pick<Fresh, 'store'>): ImmediateOpen =>
  new ImmediateOpen(store.context, new IdentityCache(store.context, undefined))

/** Replaces the engine's reads. */
function replaceGet({ meta }: Fresh, get: (key: Buffer, real: Meta['get']) => ReturnType<Meta['get']>): () => void {
  const seam = meta as { get: Meta['get'] }
  const before = meta.get
  const real: Meta['get'] = (...args) => before.apply(meta, args)
  seam.get = key => get(key, real)
  return () => {
    seam.get = before
  }
}

for (const { name, run } of ENGINES) {
  test(`${name}: an open object is as it was, until it is closed`, () =>
    run(async store => {
      await makeBucket(store, 'bucket')
      const bytes = payload(100_000)
      await put(store, 'bucket', 'key', bytes)
      const open = opening({ store })
      const { readers } = store.context
      for (let round = 0; round < 2; round++) {
        const { bucket, handle } = open.object('bucket', 'key')!
        assert.deepEqual([bucket.name, handle.version.size, readers.count], ['bucket', bytes.length, 1])
        assert.deepEqual(await collect(handle.read()), bytes)
        assert.equal(readers.count, 0)
      }
      const { handle } = open.object('bucket', 'key')!
      await put(store, 'bucket', 'key', 'new')
      assert.deepEqual(await collect(handle.read()), bytes)
      const again = open.object('bucket', 'key')!.handle
      assert.equal(again.inline(0, 3)?.toString(), 'new')
      assert.equal(readers.count, 0)
    }))
}

test('what is missing, misnamed, encrypted or hidden is not opened, and nothing stays pinned', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  await makeBucket(store, 'versioned', 'on')
  await put(store, 'versioned', 'key', 'hidden')
  await store.objects.remove({ bucket: 'versioned', key: 'key', owner: OWNER })
  const encryption = { by: 'service' } as const
  await store.objects.put({ bucket: 'bucket', key: 'sealed', owner: OWNER, body: [payload(10)], encryption })
  const open = opening({ store })
  for (const [bucket, key] of [
    ['bucket', 'missing'],
    ['bucket', ''],
    ['bucket', 'k'.repeat(1025)],
    ['bucket', 'a\0b'],
    ['absent', 'key'],
    ['Not_A_Bucket', 'key'],
    ['versioned', 'key'],
    ['bucket', 'sealed'],
  ] as const) {
    assert.equal(open.object(bucket, key), undefined, `${bucket} ${key}`)
    assert.equal(store.context.readers.count, 0, `${bucket} ${key}`)
  }
})

test('a bucket that is replaced between the reads is not opened', async () => {
  const fresh = await freshStore()
  const { store, meta } = fresh
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', 'bytes')
  const open = opening(fresh)
  const bucketKey = recordKey.bucket('bucket')
  const bucket = (await meta.get(bucketKey)) as Entry
  for (const value of [bucket.value, undefined]) {
    let isDone = false
    const restore = replaceGet(fresh, (key, real) => {
      const entry = real(key)
      // Commits in memory take effect at once.
      if (key.equals(bucketKey) && !isDone) void meta.commit({ checks: [], writes: [{ key: bucketKey, value }] })
      isDone ||= key.equals(bucketKey)
      return entry
    })
    assert.equal(open.object('bucket', 'key'), undefined)
    assert.equal(store.context.readers.count, 0)
    restore()
    await meta.commit({ checks: [], writes: [{ key: bucketKey, value: bucket.value }] })
    open.object('bucket', 'key')!.handle.close()
  }
})

test('a read that fails, or takes its time and fails, holds nothing and disturbs nobody', async () => {
  const fresh = await freshStore()
  const { store } = fresh
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', 'bytes')
  const open = opening(fresh)
  const { readers } = store.context
  const failure = new Error('input/output error')
  for (const failing of [recordKey.bucket('bucket'), recordKey.current('bucket', 'key')]) {
    const at = (fail: () => ReturnType<Meta['get']>) =>
      replaceGet(fresh, (key, real) => (key.equals(failing) ? fail() : real(key)))
    let restore = at(() => {
      throw failure
    })
    assert.throws(() => open.object('bucket', 'key'), failure)
    assert.equal(readers.count, 0)
    restore()
    // A rejection that nobody handles would fail the test.
    restore = at(() => Promise.reject(failure))
    assert.equal(open.object('bucket', 'key'), undefined)
    assert.equal(readers.count, 0)
    restore()
  }
  const restore = replaceGet(fresh, () => Promise.reject(failure))
  assert.equal(open.identities(), undefined)
  restore()
  await new Promise(setImmediate)
})

test('a damaged record is reported, and nothing stays pinned', async () => {
  const fresh = await freshStore()
  const { store, meta } = fresh
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', 'bytes')
  const open = opening(fresh)
  for (const key of [recordKey.current('bucket', 'key'), recordKey.bucket('bucket')]) {
    await meta.commit({ checks: [], writes: [{ key, value: Buffer.from('no record') }] })
    for (let round = 0; round < 2; round++) assert.throws(() => open.object('bucket', 'key'))
    assert.equal(store.context.readers.count, 0)
  }
})

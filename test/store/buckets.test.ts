import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Write } from '../../src/meta/meta.ts'
import { expandCanned } from '../../src/rules/access/acl.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import {
  assertWhole,
  ENGINES,
  faultOf,
  freshStore,
  makeBucket,
  OWNER,
  payload,
  put,
  remove,
  settle,
} from './fixture.ts'

for (const { name, run } of ENGINES) {
  test(`${name}: R12: a bucket is created, found, listed in order and removed`, () =>
    run(async (store, clock) => {
      const { createdAt } = await store.buckets.create({ name: 'beta', owner: OWNER, lockEnabled: false })
      const { id } = await store.buckets.create({ name: 'alpha', owner: 'somebody', lockEnabled: true })
      assert.equal(createdAt, clock.now())
      assert.deepEqual(await store.buckets.get('alpha'), {
        name: 'alpha',
        id,
        owner: 'somebody',
        createdAt,
        versioning: 'on',
        lockEnabled: true,
        defaultRetention: undefined,
        grants: expandCanned('private', { owner: 'somebody', bucketOwner: 'somebody' }),
        ownership: undefined,
        publicAccessBlock: undefined,
        requesterPays: false,
        documents: [],
        closing: false,
      })
      assert.deepEqual(
        (await store.buckets.list()).map(bucket => bucket.name),
        ['alpha', 'beta'],
      )
      assert.deepEqual(
        (await store.buckets.list(OWNER)).map(bucket => bucket.name),
        ['beta'],
      )
      await store.buckets.remove('alpha')
      assert.equal(await faultOf(store.buckets.get('alpha')), 'NoSuchBucket')
      assert.equal(await faultOf(store.buckets.remove('alpha')), 'NoSuchBucket')
    }))
}

test('D23: the fault for an existing bucket depends on who owns it', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const again = (owner: string) => store.buckets.create({ name: 'bucket', owner, lockEnabled: false })
  assert.equal(await faultOf(again(OWNER)), 'BucketAlreadyOwnedByYou')
  assert.equal(await faultOf(again('somebody')), 'BucketAlreadyExists')
})

test('G15: names that are not host labels are refused on creation and not found', async () => {
  const { store } = await freshStore()
  const bad = [
    'ab',
    'a'.repeat(64),
    'Upper',
    'a..b',
    'a.-b',
    '-ab',
    'ab-',
    '10.0.0.1',
    'xn--abc',
    'a_b',
    'a\0bc',
    'x-s3alias',
  ]
  for (const name of bad) {
    const made = async () => store.buckets.create({ name, owner: OWNER, lockEnabled: false })
    assert.equal(await faultOf(made()), 'InvalidBucketName', name)
    assert.equal(await faultOf(store.buckets.get(name)), 'NoSuchBucket', name)
    assert.equal(await faultOf(store.objects.head({ bucket: name, key: 'key' })), 'NoSuchBucket', name)
    assert.equal(await faultOf(store.listing.objects({ bucket: name, limit: 1 })), 'NoSuchBucket', name)
  }
  for (const name of ['abc', 'a.b', '1-2', 'a'.repeat(63)]) await makeBucket(store, name)
})

test('P10: a bucket with an object, a version or a marker is not removed, and keeps its uploads', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'on')
  const at = { bucket: 'bucket', key: 'key' }
  const { id } = await store.uploads.create({ ...at, initiator: OWNER, owner: OWNER })
  const upload = { ...at, uploadId: id.toString('hex') }
  const { etag } = await store.uploads.putPart({ ...upload, number: 1, body: [payload(9000)] })
  const version = await put(store, 'bucket', 'key', 'bytes')
  assert.equal(await faultOf(store.buckets.remove('bucket')), 'BucketNotEmpty')
  const { marker } = await remove(store, 'bucket', 'key')
  assert.equal(await faultOf(store.buckets.remove('bucket')), 'BucketNotEmpty')
  await remove(store, 'bucket', 'key', version.id)
  assert.equal(await faultOf(store.buckets.remove('bucket')), 'BucketNotEmpty')
  const completed = await store.completion.complete({ ...upload, parts: [{ number: 1, etag }] })
  for (const versionId of [marker!.id, completed.id]) await remove(store, 'bucket', 'key', versionId)
  await store.uploads.create({ ...at, initiator: OWNER, owner: OWNER })
  await store.buckets.remove('bucket')
  await makeBucket(store, 'bucket')
  assert.deepEqual((await store.listing.uploads({ bucket: 'bucket', limit: 10 })).items, [])
})

test('P10: a removal that an object prevents at the last moment keeps the uploads', async () => {
  let beforeRemoval: (() => Promise<void>) | undefined
  const isRemoval = ({ key, value }: Write): boolean => key.equals(recordKey.bucket('bucket')) && value === undefined
  const { store } = await freshStore(1, meta => ({
    get: key => meta.get(key),
    scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    commit: async tx => {
      const act = beforeRemoval
      if (act !== undefined && tx.writes.some(isRemoval)) {
        beforeRemoval = undefined
        await act()
      }
      return meta.commit(tx)
    },
    close: () => meta.close(),
  }))
  await makeBucket(store, 'bucket')
  const at = { bucket: 'bucket', key: 'key' }
  const { id } = await store.uploads.create({ ...at, initiator: OWNER, owner: OWNER })
  const upload = { ...at, uploadId: id.toString('hex') }
  const { etag } = await store.uploads.putPart({ ...upload, number: 1, body: [payload(9000)] })
  beforeRemoval = async () => void (await put(store, 'bucket', 'other', 'bytes'))
  assert.equal(await faultOf(store.buckets.remove('bucket')), 'BucketNotEmpty')
  assert.equal(beforeRemoval, undefined)
  await store.completion.complete({ ...upload, parts: [{ number: 1, etag }] })
  await remove(store, 'bucket', 'other')
  await remove(store, 'bucket', 'key')
  for (const count of [1, 50, 51, 120]) {
    for (let i = 0; i < count; i++) {
      const begun = await store.uploads.create({ ...at, initiator: OWNER, owner: OWNER })
      const uploadId = begun.id.toString('hex')
      if (i === 0) await store.uploads.putPart({ ...at, uploadId, number: 1, body: [payload(9000)] })
    }
    await store.buckets.remove('bucket')
    await makeBucket(store, 'bucket')
    assert.deepEqual((await store.listing.uploads({ bucket: 'bucket', limit: 10 })).items, [])
    await settle(store)
    await assertWhole(store)
  }
})

test('a refused removal leaves the bucket usable', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', 'bytes')
  assert.equal(await faultOf(store.buckets.remove('bucket')), 'BucketNotEmpty')
  assert.equal((await store.buckets.get('bucket')).closing, false)
  await put(store, 'bucket', 'other', 'bytes')
})

test('P9: versioning cannot be suspended with object lock, which requires it', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'plain')
  await makeBucket(store, 'locked', 'locked')
  assert.equal(await faultOf(store.buckets.setVersioning('locked', 'suspended')), 'InvalidBucketState')
  assert.equal(await faultOf(store.buckets.setLock('plain', undefined)), 'InvalidBucketState')
  await store.buckets.setVersioning('plain', 'on')
  await store.buckets.setVersioning('plain', 'suspended')
  assert.equal(await faultOf(store.buckets.setLock('plain', undefined)), 'InvalidBucketState')
  await store.buckets.setVersioning('plain', 'on')
  await store.buckets.setLock('plain', { mode: 'compliance', days: 3 })
  assert.equal(await faultOf(store.buckets.setVersioning('plain', 'suspended')), 'InvalidBucketState')
  const { lockEnabled, defaultRetention } = await store.buckets.get('plain')
  assert.deepEqual(
    { lockEnabled, defaultRetention },
    { lockEnabled: true, defaultRetention: { mode: 'compliance', days: 3 } },
  )
})

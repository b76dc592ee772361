import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENGINES, faultOf, freshStore, OWNER } from './fixture.ts'

const NONE = { prefix: '', after: undefined, limit: 10_000 }

for (const { name, run } of ENGINES) {
  test(`${name}: R12: settings and documents are returned as set, and removed`, () =>
    run(async store => {
      await store.buckets.create({ name: 'bucket', owner: OWNER, lockEnabled: true })
      const publicAccessBlock = {
        blockPublicAcls: true,
        ignorePublicAcls: false,
        blockPublicPolicy: false,
        restrictPublicBuckets: true,
      }
      await store.buckets.configure('bucket', () => ({ publicAccessBlock, requesterPays: true }))
      await store.buckets.configure('bucket', () => ({ ownership: 'BucketOwnerPreferred' }))
      await store.buckets.setLock('bucket', { mode: 'governance', days: 730, inYears: true })
      await store.documents.put('bucket', 'policy', '{"ü": 1}')
      const bucket = await store.buckets.get('bucket')
      assert.deepEqual(bucket.publicAccessBlock, publicAccessBlock)
      assert.deepEqual([bucket.requesterPays, bucket.ownership], [true, 'BucketOwnerPreferred'])
      assert.deepEqual(bucket.defaultRetention, { mode: 'governance', days: 730, inYears: true })
      assert.deepEqual(bucket.documents, ['policy'])
      assert.equal(await store.documents.get('bucket', 'policy'), '{"ü": 1}')
      await store.buckets.configure('bucket', () => ({ publicAccessBlock: undefined, ownership: undefined }))
      await store.documents.remove('bucket', 'policy')
      const after = await store.buckets.get('bucket')
      assert.deepEqual([after.publicAccessBlock, after.ownership, after.documents], [undefined, undefined, []])
    }))
}

test('G15: a page of buckets knows owners, prefixes and where it ended, beyond one scan', async () => {
  const { store } = await freshStore()
  const names = Array.from({ length: 1_205 }, (_, i) => `b${String(i).padStart(5, '0')}`)
  for (const [i, name] of names.entries()) {
    await store.buckets.create({ name, owner: i % 5 === 0 ? 'somebody' : OWNER, lockEnabled: false })
  }
  await store.buckets.create({ name: 'zz-last', owner: OWNER, lockEnabled: false })
  const own = names.filter((_, i) => i % 5 !== 0)
  const whole = await store.buckets.page({ ...NONE, owner: OWNER, prefix: 'b' })
  assert.deepEqual(
    whole.buckets.map(({ name }) => name),
    own,
  )
  assert.equal(whole.more, false)
  const seen: string[] = []
  for (let after: string | undefined; ; ) {
    const { buckets, more } = await store.buckets.page({ owner: OWNER, prefix: 'b', after, limit: 241 })
    seen.push(...buckets.map(({ name }) => name))
    if (!more) break
    after = seen.at(-1)
  }
  assert.deepEqual(seen, own)
  assert.deepEqual((await store.buckets.page({ ...NONE, owner: OWNER, prefix: 'b', after: 'c' })).buckets, [])
  const exact = await store.buckets.page({ ...NONE, owner: OWNER, prefix: 'zz', limit: 1 })
  assert.deepEqual([exact.buckets.length, exact.more], [1, false])
})

test('G6: a change that its check refuses leaves the bucket as it was', async () => {
  const { store } = await freshStore()
  await store.buckets.create({ name: 'bucket', owner: OWNER, lockEnabled: false })
  const before = await store.buckets.get('bucket')
  await assert.rejects(
    store.buckets.configure('bucket', () => {
      throw new Error('refused')
    }),
    /refused/,
  )
  assert.deepEqual(await store.buckets.get('bucket'), before)
  assert.equal(await faultOf(store.buckets.configure('none', () => ({ requesterPays: true }))), 'NoSuchBucket')
})

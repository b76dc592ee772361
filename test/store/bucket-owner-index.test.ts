import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fsck } from '../../src/maintenance/fsck.ts'
import { BucketIndexer } from '../../src/maintenance/index-buckets.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import type { Meta } from '../../src/meta/meta.ts'
import { keyRanges, recordKey } from '../../src/store/commit/record-keys.ts'
import type { Store } from '../../src/store/store.ts'
import { ENGINES, freshStore } from './fixture.ts'

const EVERYTHING = { prefix: '', after: undefined, limit: 10_000 }

const namesOf = async (store: Store, owner: string): Promise<string[]> =>
  (await store.buckets.page({ ...EVERYTHING, owner })).buckets.map(({ name }) => name)

const numbered = (count: number, letter: string): string[] =>
  Array.from({ length: count }, (_, i) => `${letter}${String(i).padStart(5, '0')}`)

async function make(store: Store, owner: string, names: readonly string[]): Promise<void> {
  for (const name of names) await store.buckets.create({ name, owner, lockEnabled: false })
}

/** A folder from before the index existed. */
async function withoutIndex({ meta }: { readonly meta: Meta }): Promise<void> {
  const entries = await meta.scan(keyRanges.kind('w'), 10_000)
  const writes = [...entries.map(({ key }) => key), recordKey.indexed()].map(key => ({ key, value: undefined }))
  assert(await meta.commit({ checks: [], writes }))
}

async function problemsOf(store: Store): Promise<readonly string[]> {
  return (await fsck(store.context)).problems
}

for (const { name, run } of ENGINES) {
  test(`${name}: G15: an owner's buckets come and go with the buckets, and are found in order`, () =>
    run(async store => {
      await runUntilIdle(new BucketIndexer(store.context))
      await make(store, 'me', ['b-two', 'a-one', 'b-one'])
      await make(store, 'you', ['b-yours'])
      assert.deepEqual(await namesOf(store, 'me'), ['a-one', 'b-one', 'b-two'])
      const { createdAt } = await store.buckets.get('b-one')
      const page = await store.buckets.page({ owner: 'me', prefix: 'b-', after: undefined, limit: 1 })
      assert.deepEqual(page, { buckets: [{ name: 'b-one', createdAt }], more: true })
      await store.buckets.remove('b-one')
      await make(store, 'you', ['b-one'])
      assert.deepEqual(await namesOf(store, 'me'), ['a-one', 'b-two'])
      assert.deepEqual(await namesOf(store, 'you'), ['b-one', 'b-yours'])
      assert.deepEqual(await problemsOf(store), [])
    }))
}

test('G15: listing a few buckets does not scan those of other accounts', async () => {
  let read = 0
  const { store } = await freshStore(1, meta => ({
    get: key => meta.get(key),
    commit: tx => meta.commit(tx),
    close: () => meta.close(),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    async scan(range, limit, reverse) {
      const page = await meta.scan(range, limit, reverse)
      read += page.length
      return page
    },
  }))
  await make(store, 'many', numbered(2_000, 'm'))
  await make(
    store,
    'few',
    ['a', 'z'].map(letter => `${letter}-few`),
  )
  await runUntilIdle(new BucketIndexer(store.context))
  read = 0
  assert.deepEqual(await namesOf(store, 'few'), ['a-few', 'z-few'])
  assert.equal(read, 2)
  assert.deepEqual(await namesOf(store, 'many'), numbered(2_000, 'm'))
})

test('G15: a folder from before the index is listed correctly while it is indexed step by step', async () => {
  const { store } = await freshStore()
  const mine = numbered(250, 'm')
  await make(store, 'me', mine)
  await withoutIndex(store.context)
  assert.deepEqual(await namesOf(store, 'me'), mine)
  assert.deepEqual(await problemsOf(store), [])
  // Some steps, a stop midway, and changes before and after that position.
  assert.equal(await new BucketIndexer(store.context).step(), 'busy')
  await store.buckets.remove(mine[3]!)
  await store.buckets.remove(mine[240]!)
  await make(store, 'me', ['a-new', 'z-new'])
  const wanted = ['a-new', ...mine.filter((_, i) => i !== 3 && i !== 240), 'z-new']
  assert.deepEqual(await namesOf(store, 'me'), wanted)
  await runUntilIdle(new BucketIndexer(store.context))
  assert.notEqual(await store.context.meta.get(recordKey.indexed()), undefined)
  assert.deepEqual(await namesOf(store, 'me'), wanted)
  assert.deepEqual(await problemsOf(store), [])
})

test('G15: a bucket removed while it is being indexed is not indexed', async () => {
  let meanwhile: (() => Promise<void>) | undefined
  const { store } = await freshStore(1, meta => ({
    get: key => meta.get(key),
    scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    close: () => meta.close(),
    async commit(tx) {
      const first = meanwhile
      meanwhile = undefined
      await first?.()
      return meta.commit(tx)
    },
  }))
  await make(store, 'me', ['stays', 'goes'])
  await withoutIndex(store.context)
  meanwhile = () => store.buckets.remove('goes')
  await runUntilIdle(new BucketIndexer(store.context))
  assert.equal(meanwhile, undefined)
  assert.deepEqual(await namesOf(store, 'me'), ['stays'])
  assert.deepEqual(await problemsOf(store), [])
})

test('fsck reports differences between the owner index and the buckets', async () => {
  const { store } = await freshStore()
  await make(store, 'me', ['one', 'two'])
  await runUntilIdle(new BucketIndexer(store.context))
  const { meta } = store.context
  const strange = await meta.get(recordKey.owned('me', 'one'))
  const writes = [
    { key: recordKey.owned('me', 'one'), value: undefined },
    { key: recordKey.owned('you', 'two'), value: strange!.value },
  ]
  assert(await meta.commit({ checks: [], writes }))
  assert.deepEqual(await problemsOf(store), [
    'bucket two: listed for you, who does not own it',
    'bucket one: not listed for its owner',
  ])
})

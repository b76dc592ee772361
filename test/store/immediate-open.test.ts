/** Opening an object without a promise: either all of it, or nothing that stays behind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EntryPair, KeyedRead, Meta } from '../../src/meta/meta.ts'
import { MetadataDamaged } from '../../src/model/faults.ts'
import { NO_ATTRIBUTES } from '../../src/model/version.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import { ImmediateOpen } from '../../src/store/objects/immediate-open.ts'
import { collect, ENGINES, type Fresh, freshStore, makeBucket, OWNER, payload, put } from './fixture.ts'

const opening = ({ store }: Pick<Fresh, 'store'>): ImmediateOpen =>
  new ImmediateOpen(store.context, new IdentityCache(store.context, undefined))

const at = (key: string, bucket = 'bucket') => ({ bucket, key })

/** Replaces the engine's single reads. */
function replaceGet({ meta }: Fresh, get: (key: Buffer, real: Meta['get']) => ReturnType<Meta['get']>): () => void {
  const seam = meta as { get: Meta['get'] }
  const before = meta.get
  const real: Meta['get'] = (...args) => before.apply(meta, args)
  seam.get = key => get(key, real)
  return () => {
    seam.get = before
  }
}

type GetBoth = NonNullable<Meta['getBoth']>

function replaceGetBoth(
  { meta }: Fresh,
  getBoth: (first: KeyedRead, second: KeyedRead, real: GetBoth) => EntryPair,
): () => void {
  const seam = meta as { getBoth?: GetBoth }
  const before = meta.getBoth!
  seam.getBoth = (first, second) => getBoth(first, second, (...keys) => before.apply(meta, keys))
  return () => {
    seam.getBoth = before
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
        const { bucket, handle } = open.object(at('key'))!
        assert.deepEqual([bucket.name, handle.version.size, readers.count], ['bucket', bytes.length, 1])
        assert.deepEqual(await collect(handle.read()), bytes)
        assert.equal(readers.count, 0)
      }
      const { handle } = open.object(at('key'))!
      await put(store, 'bucket', 'key', 'new')
      assert.deepEqual(await collect(handle.read()), bytes)
      const again = open.object(at('key'))!.handle
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
    assert.equal(open.object(at(key, bucket)), undefined, `${bucket} ${key}`)
    assert.equal(store.context.readers.count, 0, `${bucket} ${key}`)
  }
})

test('bucket and version are read together, and one without the other is not opened', async () => {
  const fresh = await freshStore()
  const { store } = fresh
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', 'bytes')
  const open = opening(fresh)
  const asked: Buffer[][] = []
  let restore = replaceGetBoth(fresh, (first, second, real) => {
    asked.push([first.key, second.key])
    return real(first, second)
  })
  open.object(at('key'))!.handle.close()
  assert.deepEqual(asked, [[recordKey.bucket('bucket'), recordKey.current('bucket', 'key')]])
  restore()
  for (const missing of [0, 1]) {
    restore = replaceGetBoth(fresh, (first, second, real) => {
      const [bucket, version] = real(first, second)
      return missing === 0 ? [undefined, version] : [bucket, undefined]
    })
    assert.equal(open.object(at('key')), undefined)
    assert.equal(store.context.readers.count, 0)
    restore()
  }
})

for (const { name, run } of ENGINES) {
  test(`${name}: a record that is opened again is kept, and used only while it is current`, () =>
    run(async store => {
      await makeBucket(store, 'bucket')
      const open = opening({ store })
      const opened = (key = 'key'): string => {
        const { handle, isKept } = open.object(at(key))!
        const text = handle.inline(0, handle.version.size)?.toString()
        handle.close()
        return `${text}${isKept ? ', kept' : ''}`
      }
      await put(store, 'bucket', 'key', 'one')
      assert.deepEqual([opened(), opened(), opened()], ['one', 'one', 'one, kept'])
      for (const text of ['two', 'two']) {
        await put(store, 'bucket', 'key', text)
        // The new record takes the place of the old one.
        assert.deepEqual([opened(), opened()], [text, `${text}, kept`])
      }
      await put(store, 'bucket', 'other', 'three')
      assert.deepEqual([opened('other'), opened('other'), opened('other')].at(-1), 'three, kept')
      await store.objects.remove({ bucket: 'bucket', key: 'key', owner: OWNER })
      assert.equal(open.object(at('key')), undefined)
      await put(store, 'bucket', 'key', 'four')
      assert.deepEqual([opened(), opened()], ['four', 'four, kept'])
      assert.equal(store.context.readers.count, 0)
    }))
}

test('a kept record has memory of its own, and what it takes is bounded', async () => {
  const fresh = await freshStore()
  const { store } = fresh
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', 'bytes')
  const open = opening(fresh)
  const isKept = (key: string): boolean => {
    const { handle, isKept } = open.object(at(key))!
    handle.close()
    return isKept
  }
  const shared: Buffer[] = []
  const restore = replaceGetBoth(fresh, (first, second, real) => {
    const [bucket, version] = real(first, second)
    if (version === second.known) return [bucket, version]
    const value = Buffer.from(version!.value)
    shared.push(value)
    return [bucket, { ...version!, value }]
  })
  for (let read = 0; read < 2; read++) isKept('key')
  for (const value of shared) value.fill(0)
  const { handle } = open.object(at('key'))!
  assert.equal(handle.inline(0, 5)?.toString(), 'bytes')
  restore()
  const metadata = (pairs: number) => Array.from({ length: pairs }, (_, n): [string, string] => [`${n}`, 'value'])
  const putMany = async (label: string, count: number, pairs: number): Promise<string[]> => {
    const keys = Array.from({ length: count }, (_, n) => `${label}-${n}`)
    const attributes = { ...NO_ATTRIBUTES, metadata: metadata(pairs) }
    for (const key of keys) await store.objects.put({ bucket: 'bucket', key, owner: OWNER, body: [], attributes })
    for (let read = 0; read < 2; read++) for (const key of keys) isKept(key)
    return keys
  }
  assert.equal((await putMany('long', 3, 200)).filter(isKept).length, 0)
  // Each takes some 10 KiB.
  const kept = (await putMany('many', 1_500, 50)).filter(isKept).length
  assert(kept > 10 && kept < 1_000, `${kept} of 1500 are kept`)
})

test('a read that fails, or takes its time and fails, holds nothing and disturbs nobody', async () => {
  const fresh = await freshStore()
  const { store } = fresh
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', 'bytes')
  const open = opening(fresh)
  const failure = new Error('input/output error')
  let restore = replaceGetBoth(fresh, () => {
    throw failure
  })
  assert.throws(() => open.object(at('key')), failure)
  assert.equal(store.context.readers.count, 0)
  restore()
  restore = replaceGet(fresh, () => Promise.reject(failure))
  assert.equal(open.identities(), undefined)
  restore()
  // A rejection that nobody handles would fail the test.
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
    for (let round = 0; round < 2; round++) assert.throws(() => open.object(at('key')))
    assert.equal(store.context.readers.count, 0)
  }
})

test('a record that was lost, or may be, is not opened', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', 'bytes')
  const open = opening({ store })
  const { losses, readers } = store.context
  for (const key of [recordKey.bucket('bucket'), recordKey.current('bucket', 'key')]) {
    losses.replace({ keys: [key], more: [] })
    assert.throws(() => open.object(at('key')), MetadataDamaged)
    losses.replace({ keys: [], more: [key[0]!] })
    open.object(at('key'))!.handle.close()
  }
  assert.throws(() => open.object(at('missing')), MetadataDamaged)
  assert.equal(readers.count, 0)
})

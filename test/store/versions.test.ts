import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { bytesOf, ENGINES, faultOf, freshStore, makeBucket, OWNER, payload, put, remove } from './fixture.ts'
import { md5 } from './model.ts'

const at = { bucket: 'bucket', key: 'key' }
const INLINE = 4096
const SIZES = [0, 1, INLINE, INLINE + 1, 65_536, 65_537, 200_000] as const

for (const { name, run } of ENGINES) {
  test(`${name}: R13, R16, R17: an object of any size is read back unchanged, also in ranges`, () =>
    run(async (store, clock) => {
      await makeBucket(store, 'bucket')
      for (const size of SIZES) {
        clock.move(1000)
        const bytes = payload(size)
        const made = await put(store, 'bucket', 'key', bytes)
        assert.deepEqual([made.size, made.etag, made.modifiedAt], [size, md5(bytes), clock.now()])
        assert.deepEqual(await store.objects.head(at), made)
        assert.ok((await bytesOf(store, at)).equals(bytes))
        for (const [start, end] of [
          [0, size >> 1],
          [size >> 1, size],
          [size, size],
          [size >> 2, (size >> 2) + (size >> 1)],
        ] as const) {
          assert.ok(
            (await bytesOf(store, at, { start, end })).equals(bytes.subarray(start, end)),
            `${size}: ${start}–${end}`,
          )
        }
      }
    }))
}

test('R18: off: the only version has the id null and is replaced', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  assert.equal((await put(store, 'bucket', 'key', 'one')).id, 'null')
  assert.equal((await put(store, 'bucket', 'key', 'two')).id, 'null')
  assert.equal((await bytesOf(store, { ...at, versionId: 'null' })).toString(), 'two')
  assert.equal((await store.listing.versions({ bucket: 'bucket', limit: 10 })).items.length, 1)
  assert.equal(await faultOf(store.objects.head({ ...at, versionId: 'f'.repeat(32) })), 'NoSuchVersion')
})

test('R118: off: another version id is malformed or does not exist', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', 'one')
  assert.equal(await faultOf(store.objects.head({ ...at, versionId: 'any-other' })), 'NoSuchVersion')
  assert.equal(await faultOf(store.objects.head({ ...at, versionId: 'no name' })), 'InvalidArgument')
  assert.equal(await faultOf(remove(store, 'bucket', 'key', 'garbage')), 'InvalidArgument')
  assert.deepEqual(await remove(store, 'bucket', 'key', 'f'.repeat(32)), { marker: undefined, removed: undefined })
  assert.equal((await remove(store, 'bucket', 'key', 'null')).removed?.id, 'null')
  assert.equal(await faultOf(store.objects.head(at)), 'NoSuchKey')
  assert.deepEqual(await remove(store, 'bucket', 'key'), { marker: undefined, removed: undefined })
})

test('R18: on: every put creates a version, which is readable by its id', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'on')
  const ids: string[] = []
  for (const text of ['one', 'two', 'three']) ids.unshift((await put(store, 'bucket', 'key', text)).id)
  assert.equal(new Set(ids).size, 3)
  const { items } = await store.listing.versions({ bucket: 'bucket', limit: 10 })
  assert.deepEqual(
    items.map(({ version, latest }) => [version.id, latest]),
    ids.map((id, i) => [id, i === 0]),
  )
  assert.equal((await bytesOf(store, { ...at, versionId: ids[2] })).toString(), 'one')
  assert.equal((await bytesOf(store, at)).toString(), 'three')
})

test('on: a delete marker hides the key until it is removed', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'on')
  const { id } = await put(store, 'bucket', 'key', 'bytes')
  const { marker } = await remove(store, 'bucket', 'key')
  assert.equal(marker?.marker, true)
  assert.equal(await faultOf(store.objects.head(at)), 'NoSuchKey')
  assert.equal(await faultOf(store.objects.head({ ...at, versionId: marker!.id })), 'MethodNotAllowed')
  assert.deepEqual((await store.listing.objects({ bucket: 'bucket', limit: 10 })).items, [])
  assert.equal((await bytesOf(store, { ...at, versionId: id })).toString(), 'bytes')
  assert.equal((await remove(store, 'bucket', 'key', marker!.id)).removed?.marker, true)
  assert.equal((await store.objects.head(at)).id, id)
})

test('on: when the newest version is removed, the one before it becomes current', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'on')
  const [one, two] = [await put(store, 'bucket', 'key', 'one'), await put(store, 'bucket', 'key', 'two')]
  await remove(store, 'bucket', 'key', two.id)
  assert.equal((await store.objects.head(at)).id, one.id)
  const three = await put(store, 'bucket', 'key', 'three')
  const { items } = await store.listing.versions({ bucket: 'bucket', limit: 10 })
  assert.deepEqual(
    items.map(({ version }) => version.id),
    [three.id, one.id],
  )
  for (const { id } of [one, three]) await remove(store, 'bucket', 'key', id)
  assert.deepEqual((await store.listing.versions({ bucket: 'bucket', limit: 10 })).items, [])
})

test('R18: suspended: the null version is replaced at any position, other versions stay', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', 'from before')
  await store.buckets.setVersioning('bucket', 'on')
  const { id } = await put(store, 'bucket', 'key', 'named')
  assert.equal((await bytesOf(store, { ...at, versionId: 'null' })).toString(), 'from before')
  await store.buckets.setVersioning('bucket', 'suspended')
  assert.equal((await put(store, 'bucket', 'key', 'after')).id, 'null')
  const shown = async () =>
    (await store.listing.versions({ bucket: 'bucket', limit: 10 })).items.map(({ version }) => [
      version.id,
      version.marker,
    ])
  assert.deepEqual(await shown(), [
    ['null', false],
    [id, false],
  ])
  const { marker } = await remove(store, 'bucket', 'key')
  assert.equal(marker?.id, 'null')
  assert.deepEqual(await shown(), [
    ['null', true],
    [id, false],
  ])
  await remove(store, 'bucket', 'key', 'null')
  assert.equal((await store.objects.head(at)).id, id)
})

test('R92, R93, R94: conditions are checked against the current object in the commit', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'on')
  const attempt = (ifMatch?: string[], ifNoneMatch?: string[]) =>
    store.objects.put({ ...at, owner: OWNER, body: [payload(10)], precondition: { ifMatch, ifNoneMatch } })
  assert.equal(await faultOf(attempt(['*'])), 'PreconditionFailed')
  const { etag } = await attempt(undefined, ['*'])
  assert.equal(await faultOf(attempt(undefined, ['*'])), 'PreconditionFailed')
  assert.equal(await faultOf(attempt(['0'.repeat(32)])), 'PreconditionFailed')
  assert.equal(await faultOf(attempt([etag], [etag])), 'PreconditionFailed')
  await attempt(['x', etag], ['x'])
  await remove(store, 'bucket', 'key')
  await attempt(undefined, ['*'])
})

test('a put whose body ends early, is too long or breaks leaves nothing', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const attempt = (body: AsyncIterable<Buffer> | Iterable<Buffer>) =>
    store.objects.put({ ...at, owner: OWNER, body, bytesExpected: 100_000 })
  assert.equal(await faultOf(attempt([payload(99_999)])), 'IncompleteBody')
  assert.equal(await faultOf(attempt([payload(60_000), payload(60_000)])), 'IncompleteBody')
  const broken = async function* () {
    yield payload(90_000)
    throw new Error('the client went away')
  }
  await assert.rejects(attempt(broken()), /went away/)
  assert.equal(await faultOf(store.objects.head(at)), 'NoSuchKey')
  const left: Buffer[] = []
  for await (const id of store.context.blobs.solos()) left.push(id)
  assert.deepEqual(left, [])
  assert.equal(store.context.drafts.count, 0)
})

test('R21, R101: tags and grants change without a new version, time or tag', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket', 'on')
  const made = await put(store, 'bucket', 'key', payload(5000))
  clock.move(5000)
  await store.objects.setTags(at, [['a', 'b']])
  const changed = await store.objects.setGrants(at, [{ grantee: 'x', group: false, permission: 'READ' }])
  const { attributes, ...rest } = changed
  const { attributes: _before, ...before } = made
  assert.deepEqual(rest, before)
  assert.deepEqual([attributes.tags, attributes.grants.length], [[['a', 'b']], 1])
})

test('R6: invalid keys are refused everywhere, and unusual valid ones work', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const bad = {
    'a\0b': 'InvalidURI',
    '\ud800': 'InvalidURI',
    ['k'.repeat(1025)]: 'KeyTooLongError',
    ['k'.repeat(4000)]: 'KeyTooLongError',
  }
  for (const [key, code] of Object.entries(bad)) {
    assert.equal(await faultOf(put(store, 'bucket', key, 'x')), code)
    assert.equal(await faultOf(store.objects.head({ bucket: 'bucket', key })), code)
    assert.equal(await faultOf(remove(store, 'bucket', key)), code)
    assert.equal(await faultOf(store.uploads.find({ bucket: 'bucket', key, uploadId: 'f'.repeat(32) })), 'NoSuchUpload')
  }
  for (const key of ['/', '//', '..', 'a/../b', ' ', '\u{1f512}', 'k'.repeat(1024), '\x01', '%00']) {
    await put(store, 'bucket', key, key)
    assert.equal((await bytesOf(store, { bucket: 'bucket', key })).toString(), key)
  }
})

test('an older version is removed even if another request undeletes the key between two reads', async () => {
  let meanwhile: (() => Promise<unknown>) | undefined
  const { store } = await freshStore(1, meta => ({
    async get(key) {
      const entry = await meta.get(key)
      // The key looks deleted; its delete marker goes before the record that says so is read.
      if (key.equals(recordKey.current(at.bucket, at.key))) {
        const first = meanwhile
        meanwhile = undefined
        await first?.()
      }
      return entry
    },
    scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    close: () => meta.close(),
    commit: tx => meta.commit(tx),
  }))
  await makeBucket(store, at.bucket, 'on')
  const older = await put(store, at.bucket, at.key, 'older')
  await put(store, at.bucket, at.key, 'newer')
  const { marker } = await remove(store, at.bucket, at.key)
  meanwhile = () => remove(store, at.bucket, at.key, marker!.id)
  await remove(store, at.bucket, at.key, older.id)
  assert.equal(meanwhile, undefined)
  assert.equal((await bytesOf(store, at)).toString(), 'newer')
  assert.equal(await faultOf(store.objects.head({ ...at, versionId: older.id })), 'NoSuchVersion')
})

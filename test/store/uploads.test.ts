import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import {
  assertWhole,
  bytesOf,
  ENGINES,
  faultOf,
  freshStore,
  gate,
  makeBucket,
  OWNER,
  PART_BYTES_MIN,
  payload,
  put,
  settle,
  turn,
  verdict,
} from './fixture.ts'
import { md5 } from './model.ts'

const at = { bucket: 'bucket', key: 'key' }

async function begin(store: Store, key = 'key'): Promise<{ bucket: string; key: string; uploadId: string }> {
  const { id } = await store.uploads.create({ bucket: 'bucket', key, initiator: OWNER, owner: OWNER })
  return { bucket: 'bucket', key, uploadId: id.toString('hex') }
}

for (const { name, run } of ENGINES) {
  test(`${name}: R16, R35, R81: parts become one object, and the upload is gone`, () =>
    run(async store => {
      await makeBucket(store, 'bucket')
      const upload = await begin(store)
      const bodies = [payload(PART_BYTES_MIN, 1), payload(PART_BYTES_MIN + 1, 2), payload(10, 3)]
      const parts = []
      // Uploaded in reverse: only the order of the list counts (R77).
      for (const number of [3, 2, 1]) {
        const { etag } = await store.uploads.putPart({ ...upload, number, body: [bodies[number - 1]!] })
        assert.equal(etag, md5(bodies[number - 1]!))
        parts.unshift({ number, etag })
      }
      await store.uploads.putPart({ ...upload, number: 7, body: [payload(100)] })
      assert.equal(await faultOf(store.objects.head(at)), 'NoSuchKey')
      const made = await store.completion.complete({ ...upload, parts })
      const digests = Buffer.concat(parts.map(({ etag }) => Buffer.from(etag, 'hex')))
      const whole = Buffer.concat(bodies)
      assert.equal(made.etag, `${createHash('md5').update(digests).digest('hex')}-3`)
      assert.deepEqual([made.size, made.parts], [whole.length, 3])
      assert.ok((await bytesOf(store, at)).equals(whole))
      const border = PART_BYTES_MIN
      assert.ok(
        (await bytesOf(store, at, { start: border - 5, end: border + 5 })).equals(
          whole.subarray(border - 5, border + 5),
        ),
      )
      assert.equal(await faultOf(store.uploads.find(upload)), 'NoSuchUpload')
      assert.deepEqual((await store.listing.uploads({ bucket: 'bucket', limit: 10 })).items, [])
      assert.equal(await faultOf(store.completion.complete({ ...upload, parts })), 'NoSuchUpload')
    }))
}

test('R76, R77, R78, R81: an invalid part list is refused, and the upload stays open', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const upload = await begin(store)
  const one = await store.uploads.putPart({ ...upload, number: 1, body: [payload(5000, 1)] })
  const two = await store.uploads.putPart({ ...upload, number: 2, body: [payload(5000, 2)] })
  const complete = (...parts: { number: number; etag: string }[]) => store.completion.complete({ ...upload, parts })
  assert.equal(await faultOf(complete()), 'InvalidRequest')
  assert.equal(await faultOf(complete(two, one)), 'InvalidPartOrder')
  assert.equal(await faultOf(complete(one, one)), 'InvalidPartOrder')
  assert.equal(await faultOf(complete({ number: 1, etag: two.etag })), 'InvalidPart')
  assert.equal(await faultOf(complete({ number: 3, etag: one.etag })), 'InvalidPart')
  assert.equal(await faultOf(complete(one, two)), 'EntityTooSmall')
  const refused = { ...upload, parts: [two], precondition: { ifMatch: ['*'], ifNoneMatch: undefined } }
  assert.equal(await faultOf(store.completion.complete(refused)), 'PreconditionFailed')
  assert.equal((await complete(two)).size, 5000)
})

test('R29, R74: an upload exists under its own key and id only', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const upload = await begin(store)
  for (const name of [
    { ...upload, key: 'other' },
    { ...upload, uploadId: 'x' },
    { ...upload, uploadId: '0'.repeat(32) },
  ]) {
    assert.equal(await faultOf(store.uploads.putPart({ ...name, number: 1, body: [] })), 'NoSuchUpload')
    assert.equal(await faultOf(store.completion.complete({ ...name, parts: [] })), 'NoSuchUpload')
    assert.equal(await faultOf(store.uploads.abort(name)), 'NoSuchUpload')
  }
  for (const number of [0, 10_001, 1.5, -1]) {
    assert.equal(await faultOf(store.uploads.putPart({ ...upload, number, body: [] })), 'InvalidArgument')
  }
})

test('R71: uploads of one key are independent; the last to complete is current', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const [first, second] = [await begin(store), await begin(store)]
  assert.notEqual(first.uploadId, second.uploadId)
  const one = await store.uploads.putPart({ ...first, number: 1, body: [Buffer.from('first')] })
  const two = await store.uploads.putPart({ ...second, number: 1, body: [Buffer.from('second')] })
  await store.completion.complete({ ...second, parts: [two] })
  await store.completion.complete({ ...first, parts: [one] })
  assert.equal((await bytesOf(store, at)).toString(), 'first')
})

test('R34: the last write of a part wins, also when the clock was set back in between', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket')
  const upload = await begin(store)
  await store.uploads.putPart({ ...upload, number: 1, body: [payload(5000, 1)] })
  clock.move(-60_000)
  const second = await store.uploads.putPart({ ...upload, number: 1, body: [payload(6000, 2)] })
  const parts = await store.uploads.parts(await store.uploads.find(upload), 0, 10)
  assert.deepEqual(
    parts.map(({ size, etag }) => [size, etag]),
    [[6000, second.etag]],
  )
  await put(store, 'bucket', 'source', payload(7000, 3))
  clock.move(-60_000)
  const third = await store.uploads.copyPart({ ...upload, number: 1, from: { bucket: 'bucket', key: 'source' } })
  assert.equal((await store.completion.complete({ ...upload, parts: [third] })).size, 7000)
})

test('R34: a slow older write does not replace the part of a newer one', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket')
  const upload = await begin(store)
  let letGo = (): void => {}
  const waiting = new Promise<void>(resolve => {
    letGo = resolve
  })
  const slow = async function* () {
    yield payload(5000, 1)
    await waiting
  }
  const older = store.uploads.putPart({ ...upload, number: 1, body: slow() })
  for (let turns = 0; turns < 10; turns++) await turn()
  clock.move(10)
  const newer = await store.uploads.putPart({ ...upload, number: 1, body: [payload(5000, 2)] })
  letGo()
  assert.equal(await faultOf(older), 'SlowDown')
  assert.deepEqual((await store.completion.complete({ ...upload, parts: [newer] })).size, 5000)
  assert.ok((await bytesOf(store, at)).equals(payload(5000, 2)))
})

test('R34: a copied part that a newer one overtakes is not acknowledged, and leaves nothing', async () => {
  let meanwhile: (() => Promise<unknown>) | undefined
  const { store, clock } = await freshStore(1, meta => ({
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
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'source', payload(70_000, 3))
  const upload = await begin(store)
  meanwhile = async () => {
    clock.move(10)
    await store.uploads.putPart({ ...upload, number: 1, body: [payload(5000, 2)] })
  }
  const copying = store.uploads.copyPart({ ...upload, number: 1, from: { bucket: 'bucket', key: 'source' } })
  assert.equal(await faultOf(copying), 'SlowDown')
  assert.equal(meanwhile, undefined)
  const parts = await store.uploads.parts(await store.uploads.find(upload), 0, 10)
  assert.deepEqual(
    parts.map(({ size }) => size),
    [5000],
  )
})

test('R37, P28: an upload is invisible until it is complete', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const held = await put(store, 'bucket', 'key', 'held')
  await store.objects.setHold(at, true)
  const upload = await begin(store)
  const part = await store.uploads.putPart({ ...upload, number: 1, body: [payload(5000)] })
  assert.equal((await bytesOf(store, at)).toString(), 'held')
  assert.equal(
    await faultOf(store.completion.complete({ ...upload, parts: [{ number: 1, etag: 'x' }] })),
    'InvalidPart',
  )
  await store.uploads.abort(upload)
  assert.equal(await faultOf(store.uploads.putPart({ ...upload, number: 1, body: [payload(5000)] })), 'NoSuchUpload')
  assert.equal(await faultOf(store.completion.complete({ ...upload, parts: [part] })), 'NoSuchUpload')
  assert.equal((await store.objects.head(at)).id, held.id)
})

test('R29: parts are listed by number, a page at a time', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const upload = await begin(store)
  for (const number of [10, 2, 1, 9999]) await store.uploads.putPart({ ...upload, number, body: [payload(number)] })
  const found = await store.uploads.find(upload)
  const numbers = async (after: number, limit: number) =>
    (await store.uploads.parts(found, after, limit)).map(part => part.number)
  assert.deepEqual(await numbers(0, 10), [1, 2, 10, 9999])
  assert.deepEqual(await numbers(1, 2), [2, 10])
  assert.deepEqual(await numbers(9999, 2), [])
})

test('UploadPartCopy: a range must be within its source, even if the source was replaced meanwhile', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const bytes = payload(10_000)
  await put(store, 'bucket', 'source', bytes)
  const upload = await begin(store)
  const from = { bucket: 'bucket', key: 'source' }
  for (const range of [
    { start: 0, end: 10_001 },
    { start: 5, end: 5 },
    { start: -1, end: 5 },
    { start: 7, end: 3 },
  ]) {
    assert.equal(await faultOf(store.uploads.copyPart({ ...upload, number: 1, from, range })), 'InvalidArgument')
  }
  const part = await store.uploads.copyPart({ ...upload, number: 1, from, range: { start: 100, end: 9000 } })
  await store.completion.complete({ ...upload, parts: [part] })
  assert.ok((await bytesOf(store, at)).equals(bytes.subarray(100, 9000)))
})

test('R34, R35: a completion never commits parts that it read before one of them was replaced', async () => {
  // Called after the first and second read of the parts, before the reader gets them.
  const afterRead: (() => Promise<void>)[] = []
  const { store } = await freshStore(1, meta => ({
    get: key => meta.get(key),
    commit: tx => meta.commit(tx),
    close: () => meta.close(),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    scan: async (range, limit, reverse) => {
      const found = await meta.scan(range, limit, reverse)
      if (range.start[0] === 'p'.charCodeAt(0)) await afterRead.shift()?.()
      return found
    },
  }))
  await makeBucket(store, 'bucket')
  const upload = await begin(store)
  const first = await store.uploads.putPart({ ...upload, number: 1, body: [payload(20_000, 1)] })
  const [announced, ended] = [gate(), gate()]
  let later: Promise<string> | undefined
  afterRead.push(
    async () => {
      const second = await store.uploads.putPart({ ...upload, number: 1, body: [payload(20_000, 2)] })
      // A second completion starts, so that the upload looks as it did to the first one.
      later = verdict(store.completion.complete({ ...upload, parts: [second] }))
      await announced.opened
    },
    async () => {
      announced.open()
      await ended.opened
    },
  )
  const earlier = await verdict(store.completion.complete({ ...upload, parts: [first] }))
  ended.open()
  assert.deepEqual([earlier, await later], ['InvalidPart', 'ok'])
  await settle(store)
  await assertWhole(store)
  assert.ok((await bytesOf(store, at)).equals(payload(20_000, 2)))
})

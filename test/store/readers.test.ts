import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { test } from 'node:test'
import { Compactor } from '../../src/maintenance/compact.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { recordsOf } from '../../src/maintenance/records.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import type { Store } from '../../src/store/store.ts'
import {
  ANY_DEAD,
  assertWhole,
  collect,
  ENGINES,
  freshStore,
  makeBucket,
  OWNER,
  PART_BYTES_MIN,
  payload,
  put,
  remove,
  settle,
} from './fixture.ts'

/** One round of all maintenance, which spares the bytes of open readers. */
async function maintenance({ context }: Store): Promise<void> {
  await context.blobs.closeVolume()
  for (let round = 0; round < 3; round++) {
    for (const worker of [new Compactor(context, ANY_DEAD), new Reclaimer(context), new Sweeper(context)]) {
      await runUntilIdle(worker)
    }
  }
}

async function multipart(store: Store, bodies: readonly Buffer[]): Promise<void> {
  const at = { bucket: 'bucket', key: 'key' }
  const { id } = await store.uploads.create({ ...at, initiator: OWNER, owner: OWNER })
  const upload = { ...at, uploadId: id.toString('hex') }
  const parts = []
  for (const [i, body] of bodies.entries())
    parts.push(await store.uploads.putPart({ ...upload, number: i + 1, body: [body] }))
  await store.completion.complete({ ...upload, parts })
}

for (const { name, run } of ENGINES) {
  for (const size of [2000, 50_000, 3 * 2 ** 20]) {
    test(`${name}: a GET of ${size} bytes completes despite delete, overwrite, reclaim and compaction`, () =>
      run(async store => {
        await makeBucket(store, 'bucket')
        const bytes = payload(size)
        await put(store, 'bucket', 'neighbour', payload(50_000, 2))
        await put(store, 'bucket', 'key', bytes)
        const untouched = await store.objects.open({ bucket: 'bucket', key: 'key' })
        const handle = await store.objects.open({ bucket: 'bucket', key: 'key' })
        const reading = handle.read()
        const first = (await reading.next()).value as Buffer
        await put(store, 'bucket', 'key', 'over it')
        await remove(store, 'bucket', 'key')
        await remove(store, 'bucket', 'neighbour')
        await maintenance(store)
        assert.ok(Buffer.concat([first, await collect(reading)]).equals(bytes), 'a read that had begun')
        assert.ok((await collect(untouched.read())).equals(bytes), 'a read that had not begun')
        await settle(store)
        await assertWhole(store)
        assert.equal((await fsck(store.context)).blobs, 0)
      }))
  }
}

test('a GET of many parts completes while its object, content and blobs are removed', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const bodies = [payload(PART_BYTES_MIN, 1), payload(PART_BYTES_MIN, 2), payload(100, 3)]
  await multipart(store, bodies)
  const handle = await store.objects.open({ bucket: 'bucket', key: 'key' })
  const reading = handle.read()
  const first = (await reading.next()).value as Buffer
  await remove(store, 'bucket', 'key')
  await maintenance(store)
  assert.ok((await fsck(store.context)).blobs > 0)
  assert.ok(Buffer.concat([first, await collect(reading)]).equals(Buffer.concat(bodies)))
  await settle(store)
  assert.equal((await fsck(store.context)).blobs, 0)
})

test('packed bytes that are moved during a read are found at their old and new location', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const bytes = payload(60_000)
  await put(store, 'bucket', 'dead', payload(60_000, 2))
  await put(store, 'bucket', 'key', bytes)
  const before = await store.objects.open({ bucket: 'bucket', key: 'key' })
  const reading = before.read()
  const first = (await reading.next()).value as Buffer
  await remove(store, 'bucket', 'dead')
  await maintenance(store)
  assert.ok(Buffer.concat([first, await collect(reading)]).equals(bytes))
  const after = await store.objects.open({ bucket: 'bucket', key: 'key' })
  assert.ok((await collect(after.read())).equals(bytes))
  await settle(store)
  await assertWhole(store)
})

test('bytes are freed once their reader is cancelled', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', payload(200_000))
  const stopped = await store.objects.open({ bucket: 'bucket', key: 'key' })
  const unread = await store.objects.open({ bucket: 'bucket', key: 'key' })
  await remove(store, 'bucket', 'key')
  await maintenance(store)
  assert.equal((await fsck(store.context)).blobs, 1)
  for await (const _chunk of stopped.read()) break
  unread.close()
  assert.equal(store.context.readers.count, 0)
  await settle(store)
  assert.equal((await fsck(store.context)).blobs, 0)
})

test('a read cancelled before its first byte releases its pin', async () => {
  const { store } = await freshStore()
  const { readers } = store.context
  await makeBucket(store, 'bucket')
  const at = { bucket: 'bucket', key: 'key' }
  await put(store, 'bucket', 'key', payload(100_000))
  const gone = Readable.from((await store.objects.open(at)).read())
  gone.destroy()
  await finished(gone).catch(() => undefined)
  assert.equal(readers.count, 0, 'a stream whose client has left')
  await (await store.objects.open(at)).read().return?.()
  assert.equal(readers.count, 0, 'an iterator that is ended at once')
  const broken = Readable.from((await store.objects.open(at)).read())
  broken.on('error', () => {})
  broken.destroy(new Error('the client is gone'))
  await finished(broken).catch(() => undefined)
  assert.equal(readers.count, 0, 'a stream that broke')
  await remove(store, 'bucket', 'key')
  await settle(store)
  await assertWhole(store)
})

test('a read that fails or has an invalid range releases its pin', async () => {
  const { store } = await freshStore()
  const { readers, meta } = store.context
  await makeBucket(store, 'bucket')
  const at = { bucket: 'bucket', key: 'key' }
  await put(store, 'bucket', 'key', payload(100_000))
  for (const [start, end] of [
    [0, 100_001],
    [-1, 5],
    [7, 3],
  ]) {
    const handle = await store.objects.open(at)
    await assert.rejects(async () => collect(handle.read(start, end)), RangeError)
    assert.equal(readers.count, 0, `${start}–${end}`)
  }
  const handle = await store.objects.open(at)
  for await (const entry of recordsOf(store.context, 'b')) {
    await meta.commit({ checks: [], writes: [{ key: entry.key, value: undefined }] })
  }
  await assert.rejects(collect(handle.read()), { name: 'BrokenReference' })
  assert.equal(readers.count, 0, 'a read that failed')
})

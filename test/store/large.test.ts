import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fsck } from '../../src/maintenance/fsck.ts'
import { META_LIMITS, type Meta } from '../../src/meta/meta.ts'
import { requireContent } from '../../src/store/content/read-content.ts'
import type { Store } from '../../src/store/store.ts'
import {
  assertWhole,
  below,
  bytesOf,
  chance,
  faultOf,
  freshStore,
  makeBucket,
  OWNER,
  PART_BYTES_MIN,
  payload,
  put,
  remove,
  settle,
} from './fixture.ts'

/** Measures the commits to a metadata engine: their total size, and the largest record. */
class Weighed {
  commits = 0
  bytes = 0
  readonly max = { commitBytes: 0, commitKeys: 0, recordBytes: 0 }

  over(meta: Meta): Meta {
    return {
      get: key => meta.get(key),
      scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
      scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
      close: () => meta.close(),
      commit: tx => {
        const written = tx.writes.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0)
        const keys = new Set([...tx.checks, ...tx.writes].map(({ key }) => key.toString('hex')))
        this.commits++
        this.bytes += written
        this.max.commitBytes = Math.max(this.max.commitBytes, written)
        this.max.commitKeys = Math.max(this.max.commitKeys, keys.size)
        for (const { value } of tx.writes) this.max.recordBytes = Math.max(this.max.recordBytes, value?.length ?? 0)
        return meta.commit(tx)
      },
    }
  }

  start(): void {
    this.commits = 0
    this.bytes = 0
  }
}

const BLOCK = payload(PART_BYTES_MIN + 1)

async function begin(store: Store, key: string): Promise<{ bucket: string; key: string; uploadId: string }> {
  const { id } = await store.uploads.create({ bucket: 'bucket', key, initiator: OWNER, owner: OWNER })
  return { bucket: 'bucket', key, uploadId: id.toString('hex') }
}

/** An object of this many parts, each a range of the same blob: part n starts one byte later than part n − 1. */
async function manyParts(store: Store, key: string, count: number): Promise<void> {
  const upload = await begin(store, key)
  const parts = []
  for (let number = 1; number <= count; number++) {
    const start = number % 2
    const range = { start, end: start + PART_BYTES_MIN }
    parts.push(await store.uploads.copyPart({ ...upload, number, from: { bucket: 'bucket', key: 'block' }, range }))
  }
  await store.completion.complete({ ...upload, parts })
}

/** The byte at a position of such an object. */
const byteAt = (position: number): number => {
  const number = Math.floor(position / PART_BYTES_MIN) + 1
  return BLOCK[(number % 2) + (position % PART_BYTES_MIN)]!
}

async function expectRange(store: Store, key: string, start: number, end: number): Promise<void> {
  const got = await bytesOf(store, { bucket: 'bucket', key }, { start, end })
  assert.equal(got.length, end - start)
  for (let i = 0; i < got.length; i++) if (got[i] !== byteAt(start + i)) assert.fail(`byte ${start + i} is wrong`)
}

function assertWithinLimits({ max }: Weighed): void {
  assert.ok(max.recordBytes <= META_LIMITS.valueBytesMax, `a record of ${max.recordBytes} bytes`)
  assert.ok(max.commitBytes <= META_LIMITS.commitBytesMax, `a commit of ${max.commitBytes} bytes`)
  assert.ok(max.commitKeys <= META_LIMITS.commitKeysMax, `a commit of ${max.commitKeys} keys`)
}

test('R77 G20: ten thousand parts: bounded commits, ranges across pages, all of it freed', async () => {
  const weighed = new Weighed()
  const { store } = await freshStore(1, meta => weighed.over(meta))
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'block', BLOCK)
  await manyParts(store, 'huge', 10_000)
  const version = await store.objects.head({ bucket: 'bucket', key: 'huge' })
  assert.deepEqual([version.parts, version.size], [10_000, 10_000 * PART_BYTES_MIN])
  assert.equal(version.content.kind, 'shared')
  const { pages } = await requireContent(
    store.context,
    version.content.kind === 'shared' ? version.content.id : Buffer.alloc(0),
  )
  assert.ok(pages.length > 10, `${pages.length} pages`)
  for (const { start } of pages.slice(1)) await expectRange(store, 'huge', start - 300, start + 300)
  await expectRange(store, 'huge', version.size - 10, version.size)
  const random = chance(3)
  for (let n = 0; n < 20; n++) {
    const at = below(random, version.size - 1000)
    await expectRange(store, 'huge', at, at + 1000)
  }
  const copy = { from: { bucket: 'bucket', key: 'huge' }, to: { bucket: 'bucket', key: 'copy' }, owner: OWNER }
  assert.equal(await faultOf(store.copies.copy(copy)), 'EntityTooLarge')
  await remove(store, 'bucket', 'huge')
  await remove(store, 'bucket', 'block')
  await settle(store)
  const nothing = { problems: [], objects: 0, blobs: 0, contents: 0, garbage: 0, held: [] }
  assert.deepEqual(await fsck(store.context), { ...nothing, usage: { wrong: [], uncounted: [] } })
  assertWithinLimits(weighed)
})

test('R53: the copy of an object of a thousand parts is one commit of less than ten kilobytes', async () => {
  const weighed = new Weighed()
  const { store } = await freshStore(1, meta => weighed.over(meta))
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'block', BLOCK)
  await manyParts(store, 'large', 1000)
  weighed.start()
  await store.copies.copy({
    from: { bucket: 'bucket', key: 'large' },
    to: { bucket: 'bucket', key: 'copy' },
    owner: OWNER,
  })
  assert.equal(weighed.commits, 1)
  assert.ok(weighed.bytes < 10_000, `${weighed.bytes} bytes`)
  await remove(store, 'bucket', 'large')
  await settle(store)
  await assertWhole(store)
  await expectRange(store, 'copy', 600 * PART_BYTES_MIN - 100, 600 * PART_BYTES_MIN + 100)
  // A part that is most of the object becomes one slice of the whole content.
  const upload = await begin(store, 'made')
  weighed.start()
  const range = { start: 1, end: 900 * PART_BYTES_MIN }
  const part = await store.uploads.copyPart({ ...upload, number: 1, from: { bucket: 'bucket', key: 'copy' }, range })
  assert.ok(weighed.commits === 1 && weighed.bytes < 10_000, `${weighed.commits} commits, ${weighed.bytes} bytes`)
  await store.completion.complete({ ...upload, parts: [part] })
  await remove(store, 'bucket', 'copy')
  await settle(store)
  const got = await bytesOf(store, { bucket: 'bucket', key: 'made' }, { start: 5, end: 105 })
  for (let i = 0; i < 100; i++) assert.equal(got[i], byteAt(6 + i))
  assertWithinLimits(weighed)
})

test('R100: parts of several contents each are given back in bounded commits, aborted or deleted', async () => {
  const weighed = new Weighed()
  const { store } = await freshStore(1, meta => weighed.over(meta))
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'block', BLOCK)
  const pieces = ['one', 'two', 'three', 'four']
  for (const key of pieces) await manyParts(store, key, 2)
  const joining = await begin(store, 'joined')
  const joined = []
  for (const [i, key] of pieces.entries()) {
    joined.push(await store.uploads.copyPart({ ...joining, number: i + 1, from: { bucket: 'bucket', key } }))
  }
  await store.completion.complete({ ...joining, parts: joined })
  for (const ending of ['abort', 'delete'] as const) {
    const upload = await begin(store, 'many')
    const parts = []
    for (let number = 1; number <= 100; number++) {
      parts.push(await store.uploads.copyPart({ ...upload, number, from: { bucket: 'bucket', key: 'joined' } }))
    }
    const [stored] = await store.uploads.parts(await store.uploads.find(upload), 0, 1)
    assert.equal(stored?.slices.length, 4)
    if (ending === 'abort') await store.uploads.abort(upload)
    else {
      await store.completion.complete({ ...upload, parts })
      await remove(store, 'bucket', 'many')
    }
    await settle(store)
    await assertWhole(store)
  }
  assertWithinLimits(weighed)
})

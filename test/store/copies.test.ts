import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DigestAlgorithm } from '../../src/digest/digest-program.ts'
import type { DigestStream } from '../../src/digest/digest-thread.ts'
import { digestThreads } from '../../src/digest/digest-threads.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { NO_ATTRIBUTES } from '../../src/model/version.ts'
import type { Store } from '../../src/store/store.ts'
import {
  assertWhole,
  bytesOf,
  ENGINES,
  faultOf,
  freshStore,
  makeBucket,
  OWNER,
  PART_BYTES_MIN,
  payload,
  put,
  remove,
  settle,
  turn,
} from './fixture.ts'

const from = { bucket: 'bucket', key: 'source' }
const to = { bucket: 'bucket', key: 'copy' }

async function multipart(store: Store, bodies: readonly Buffer[], key = 'source'): Promise<string> {
  const { id } = await store.uploads.create({ bucket: 'bucket', key, initiator: OWNER, owner: OWNER })
  const upload = { bucket: 'bucket', key, uploadId: id.toString('hex') }
  const parts = []
  for (const [i, body] of bodies.entries())
    parts.push(await store.uploads.putPart({ ...upload, number: i + 1, body: [body] }))
  return (await store.completion.complete({ ...upload, parts })).etag
}

for (const { name, run } of ENGINES) {
  test(`${name}: R53: a copy shares the bytes of its source, of any size, and outlives it`, () =>
    run(async store => {
      await makeBucket(store, 'bucket')
      await makeBucket(store, 'other', 'on')
      for (const size of [0, 100, 5000, 70_000, 2 ** 21]) {
        const bytes = payload(size)
        const made = await put(store, 'bucket', 'source', bytes)
        const blobs = (await fsck(store.context)).blobs
        const near = await store.copies.copy({ from, to, owner: 'another' })
        const far = await store.copies.copy({ from: to, to: { bucket: 'other', key: 'copy' }, owner: OWNER })
        assert.deepEqual([near.source.etag, near.version.etag, far.version.etag], [made.etag, made.etag, made.etag])
        assert.equal(near.version.owner, 'another')
        assert.equal((await fsck(store.context)).blobs, blobs, 'a copy wrote bytes')
        await remove(store, 'bucket', 'source')
        await remove(store, 'bucket', 'copy')
        await settle(store)
        await assertWhole(store)
        assert.ok((await bytesOf(store, { bucket: 'other', key: 'copy' })).equals(bytes))
      }
    }))
}

test('R53: a copy of a multipart object keeps its tag and its parts', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const bodies = [payload(PART_BYTES_MIN, 1), payload(77, 2)]
  const etag = await multipart(store, bodies)
  const { version } = await store.copies.copy({ from, to, owner: OWNER })
  assert.deepEqual([version.etag, version.parts], [etag, 2])
  await remove(store, 'bucket', 'source')
  await settle(store)
  assert.ok((await bytesOf(store, to)).equals(Buffer.concat(bodies)))
  await remove(store, 'bucket', 'copy')
  await settle(store)
  const nothing = { problems: [], objects: 0, blobs: 0, contents: 0, garbage: 0, held: [] }
  assert.deepEqual(await fsck(store.context), { ...nothing, usage: { wrong: [], uncounted: [] } })
})

test('R45: a copy takes data, metadata and tags; not grants, redirect or storage class', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const attributes = {
    headers: [['content-type', 'text/plain']],
    metadata: [['a', 'b']],
    tags: [['c', 'd']],
    grants: [{ grantee: 'x', group: false, permission: 'READ' }],
    redirect: '/elsewhere',
    storageClass: 'COLD',
  } as const
  await store.objects.put({ ...from, owner: OWNER, body: [payload(10)], attributes })
  const { version } = await store.copies.copy({ from, to, owner: OWNER })
  const { headers, metadata, tags } = attributes
  assert.deepEqual(version.attributes, { ...NO_ATTRIBUTES, headers, metadata, tags })
  const replaced = await store.copies.copy({ from, to, owner: OWNER, attributes: () => NO_ATTRIBUTES })
  assert.deepEqual(replaced.version.attributes, NO_ATTRIBUTES)
})

test('R44: each reason why a source cannot be copied has its own fault', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'on')
  const copy = (source: { bucket: string; key: string; versionId?: string }, target = to) =>
    faultOf(store.copies.copy({ from: source, to: target, owner: OWNER }))
  assert.equal(await copy({ ...from, bucket: 'missing' }), 'NoSuchBucket')
  assert.equal(await copy(from), 'NoSuchKey')
  await put(store, 'bucket', 'source', 'bytes')
  const { marker } = await remove(store, 'bucket', 'source')
  assert.equal(await copy(from), 'NoSuchKey')
  assert.equal(await copy({ ...from, versionId: marker!.id }), 'MethodNotAllowed')
  assert.equal(await copy({ ...from, versionId: 'f'.repeat(32) }), 'NoSuchVersion')
  await put(store, 'bucket', 'source', 'bytes')
  assert.equal(await copy(from, { bucket: 'missing', key: 'copy' }), 'NoSuchBucket')
  assert.equal(await copy(from, { bucket: 'bucket', key: '' }), 'InvalidArgument')
})

test('R49, R50: conditions on source and target are checked in the commit', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'source', payload(5000))
  let looked = 0
  const check = ({ size }: { size: number }) => {
    looked = size
  }
  const precondition = { ifMatch: undefined, ifNoneMatch: ['*'] }
  await store.copies.copy({ from, to, owner: OWNER, check, precondition })
  assert.equal(looked, 5000)
  assert.equal(await faultOf(store.copies.copy({ from, to, owner: OWNER, precondition })), 'PreconditionFailed')
  const refuse = () => {
    throw new Error('not this one')
  }
  await assert.rejects(store.copies.copy({ from, to, owner: OWNER, check: refuse }), /not this one/)
})

test('R48: an object copied onto itself keeps its bytes, with versions and without', async () => {
  for (const versioning of ['off', 'on', 'suspended'] as const) {
    const { store } = await freshStore()
    await makeBucket(store, 'bucket', versioning)
    await put(store, 'bucket', 'source', payload(70_000))
    for (let again = 0; again < 3; again++) await store.copies.copy({ from, to: from, owner: OWNER })
    await settle(store)
    await assertWhole(store)
    assert.ok((await bytesOf(store, from)).equals(payload(70_000)))
    const { items } = await store.listing.versions({ bucket: 'bucket', limit: 10 })
    assert.equal(items.length, versioning === 'on' ? 4 : 1)
  }
})

test('a part that is a range shares its bytes: blobs, contents of many parts, and those of contents', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  let whole = Buffer.concat([payload(PART_BYTES_MIN, 1), payload(3000, 2)])
  await multipart(store, [payload(PART_BYTES_MIN, 1), payload(3000, 2)])
  // Each round builds on the previous one: contents of contents, to a bounded depth and correct beyond it.
  for (let depth = 0; depth < 7; depth++) {
    const { id } = await store.uploads.create({ ...to, initiator: OWNER, owner: OWNER })
    const upload = { ...to, uploadId: id.toString('hex') }
    const ranges = [
      { start: 5, end: whole.length },
      { start: 0, end: PART_BYTES_MIN + 10 },
      { start: 100, end: 200 },
    ]
    const parts = []
    for (const [i, range] of ranges.entries()) {
      parts.push(await store.uploads.copyPart({ ...upload, number: i + 1, from: depth === 0 ? from : to, range }))
    }
    await store.completion.complete({ ...upload, parts })
    whole = Buffer.concat(ranges.map(({ start, end }) => whole.subarray(start, end)))
    if (whole.length > 24 * 2 ** 20) {
      // Long enough to show it; from here on only a short range is copied.
      const next = await store.uploads.create({ ...to, initiator: OWNER, owner: OWNER })
      const shorter = { ...to, uploadId: next.id.toString('hex') }
      const range = { start: 1000, end: 1000 + PART_BYTES_MIN + 999 }
      const part = await store.uploads.copyPart({ ...shorter, number: 1, from: to, range })
      await store.completion.complete({ ...shorter, parts: [part] })
      whole = whole.subarray(range.start, range.end)
    }
    assert.deepEqual((await fsck(store.context)).problems, [])
    assert.ok((await bytesOf(store, to)).equals(whole), `depth ${depth}`)
  }
  await remove(store, 'bucket', 'source')
  await settle(store)
  assert.ok((await bytesOf(store, to)).equals(whole))
  await remove(store, 'bucket', 'copy')
  await settle(store)
  assert.equal((await fsck(store.context)).blobs, 0)
})

/** While it runs, digests of one kind fail at their end; returns those that were never ended. */
async function failing(algorithm: DigestAlgorithm, work: () => Promise<void>): Promise<DigestAlgorithm[]> {
  const open = new Set<DigestStream>()
  digestThreads.open = asked => {
    const lane: DigestStream | undefined = Object.getPrototypeOf(digestThreads).open.call(digestThreads, asked)
    if (lane === undefined) return undefined
    open.add(lane)
    const [digest, abandon] = [lane.digest.bind(lane), lane.abandon.bind(lane)]
    lane.abandon = () => {
      open.delete(lane)
      abandon()
    }
    lane.digest = async rest => {
      open.delete(lane)
      const computed = await digest(rest)
      if (asked === algorithm) throw new Error('its thread is gone')
      return computed
    }
    return lane
  }
  try {
    await work()
    // The other one may still be finishing.
    for (let turns = 0; open.size > 0 && turns < 1_000; turns++) await turn()
    return [...open].map(lane => lane.algorithm)
  } finally {
    Reflect.deleteProperty(digestThreads, 'open')
    // Otherwise a failing test would hang.
    for (const lane of open) lane.abandon()
  }
}

for (const algorithm of ['sha256', 'md5'] as const) {
  test(`R52: a copy re-encrypted by parts ends all its digests, even when ${algorithm} fails`, async () => {
    const { store } = await freshStore()
    await makeBucket(store, 'bucket')
    await multipart(store, [payload(PART_BYTES_MIN, 1), payload(2 ** 20, 2)])
    const encryption = { by: 'named', name: 'tenant', context: undefined, bucketKey: false } as const
    const left = await failing(algorithm, () =>
      assert.rejects(
        store.copies.copy({ from, to, owner: OWNER, encryption, algorithm: 'SHA256' }),
        /its thread is gone/,
      ),
    )
    assert.deepEqual(left, [])
    assert.equal(await faultOf(store.objects.head(to)), 'NoSuchKey')
    await settle(store)
    await assertWhole(store)
  })
}

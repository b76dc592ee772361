import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Disk, realDisk } from '../../src/lib/disk.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { recordsOf } from '../../src/maintenance/records.ts'
import { Scrubber } from '../../src/maintenance/scrub.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import { blobFormat } from '../../src/model/content.ts'
import { openFolder } from '../../src/server/compose.ts'
import type { Store } from '../../src/store/store.ts'
import {
  assertWhole,
  bytesOf,
  FOLDER,
  faultOf,
  freshStore,
  makeBucket,
  OWNER,
  openOn,
  PART_BYTES_MIN,
  payload,
  put,
  remove,
  settle,
  withFolder,
} from './fixture.ts'

async function begin(store: Store): Promise<{ bucket: string; key: string; uploadId: string }> {
  const { id } = await store.uploads.create({ bucket: 'bucket', key: 'key', initiator: OWNER, owner: OWNER })
  return { bucket: 'bucket', key: 'key', uploadId: id.toString('hex') }
}

async function count(found: AsyncIterable<unknown>): Promise<number> {
  let total = 0
  for await (const _one of found) total++
  return total
}

test('R36, R100: an abort frees the bytes of its parts, and shared bytes stay', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const bytes = payload(70_000)
  await put(store, 'bucket', 'source', bytes)
  const upload = await begin(store)
  for (let number = 1; number <= 5; number++)
    await store.uploads.putPart({ ...upload, number, body: [payload(80_000, number)] })
  await store.uploads.putPart({ ...upload, number: 1, body: [payload(80_000, 9)] })
  await store.uploads.copyPart({ ...upload, number: 6, from: { bucket: 'bucket', key: 'source' } })
  await store.uploads.abort(upload)
  await settle(store)
  await assertWhole(store)
  assert.equal((await fsck(store.context)).blobs, 1)
  assert.equal(await count(recordsOf(store.context, 'p')), 0)
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'source' })).equals(bytes))
})

test('R35: parts that were not listed are freed when the upload is complete', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const upload = await begin(store)
  for (const number of [1, 2, 3]) await store.uploads.putPart({ ...upload, number, body: [payload(70_000, number)] })
  const [, second] = await store.uploads.parts(await store.uploads.find(upload), 0, 3)
  await store.completion.complete({ ...upload, parts: [second!] })
  await settle(store)
  await assertWhole(store)
  assert.equal((await fsck(store.context)).blobs, 1)
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'key' })).equals(payload(70_000, 2)))
})

test('the sweep frees bytes that a crash left without a name, and touches no others', async () => {
  const fresh = await freshStore()
  const { store } = fresh
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', payload(70_000))
  // Written and synced, but the process died before the commit.
  await store.context.blobs.write(store.context.ids.next(), [payload(100_000)])
  await store.context.blobs.write(store.context.ids.next(), [payload(9000)])
  const again = await openOn(fresh)
  const sweeper = new Sweeper(again.context)
  await runUntilIdle(sweeper)
  assert.equal(sweeper.removed, 1)
  await settle(again)
  await assertWhole(again)
  assert.ok((await bytesOf(again, { bucket: 'bucket', key: 'key' })).equals(payload(70_000)))
})

test('the sweep leaves a body alone that is still arriving', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const swept = new Sweeper(store.context)
  const body = async function* () {
    yield payload(600_000, 1)
    yield payload(600_000, 2)
    // Its file exists by now, and no record names it.
    assert.equal(await count(store.context.blobs.solos()), 1)
    await runUntilIdle(swept)
    yield payload(600_000, 3)
  }
  await store.objects.put({ bucket: 'bucket', key: 'key', owner: OWNER, body: body() })
  assert.equal(swept.removed, 0)
  await runUntilIdle(swept)
  const whole = Buffer.concat([1, 2, 3].map(seed => payload(600_000, seed)))
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'key' })).equals(whole))
})

test('a discard that fails leaves no draft: the sweep frees what it left', async () => {
  const { store, disk } = await freshStore()
  await makeBucket(store, 'bucket')
  const unlink = disk.remove.bind(disk)
  disk.remove = async () => {
    throw Object.assign(new Error('EIO: i/o error, unlink'), { code: 'EIO' })
  }
  const body = async function* () {
    yield payload(100_000)
    await store.buckets.remove('bucket')
  }
  const refused = store.objects.put({ bucket: 'bucket', key: 'key', owner: OWNER, body: body() })
  assert.equal(await faultOf(refused), 'NoSuchBucket')
  assert.equal(await count(store.context.blobs.solos()), 1)
  assert.equal(store.context.drafts.count, 0)
  disk.remove = unlink
  await settle(store)
  await assertWhole(store)
})

test('a full disk refuses writes that add records and accepts deletes', async () => {
  const fresh = await freshStore()
  await makeBucket(fresh.store, 'bucket', 'on')
  await put(fresh.store, 'bucket', 'key', payload(70_000))
  const upload = await begin(fresh.store)
  fresh.disk.freeBytes = 1000
  const store = await openOn(fresh)
  const from = { bucket: 'bucket', key: 'key' }
  for (const adding of [
    () => put(store, 'bucket', 'other', 'short'),
    () => put(store, 'bucket', 'other', payload(70_000)),
    () => begin(store),
    () => store.copies.copy({ from, to: { bucket: 'bucket', key: 'copy' }, owner: OWNER }),
    () => store.uploads.copyPart({ ...upload, number: 1, from }),
    () => store.uploads.putPart({ ...upload, number: 1, body: [payload(5000)] }),
  ]) {
    assert.equal(await faultOf(adding()), 'InsufficientStorage', String(adding))
  }
  await store.uploads.abort(upload)
  const [found] = (await store.listing.versions({ bucket: 'bucket', limit: 10 })).items
  await remove(store, 'bucket', 'key')
  await remove(store, 'bucket', 'key', found!.version.id)
  await settle(store)
  await assertWhole(store)
  assert.equal((await fsck(store.context)).blobs, 0)
})

test('a full disk of the data folder refuses writes also with blobs elsewhere, and accepts deletes', async () => {
  await withFolder(async outer => {
    const [folder, blobsPlace] = [join(outer, 'data'), join(outer, 'blobs')]
    let left = 2 ** 30
    const free = async (path: string): Promise<number> => (path.startsWith(folder) ? left : 2 ** 40)
    const open = () => openFolder({ folder, blobsPlace, durability: 'os', disk: { ...realDisk, free } })
    const before = await open()
    await makeBucket(before.store, 'bucket')
    await put(before.store, 'bucket', 'key', payload(70_000))
    await before.close()
    left = 1000
    const { store, close } = await open()
    for (const body of ['short', payload(70_000)]) {
      assert.equal(await faultOf(put(store, 'bucket', 'other', body)), 'InsufficientStorage')
    }
    await remove(store, 'bucket', 'key')
    await close()
  })
})

test('P31: refused deletes do not use up the reserved space on a full disk', async () => {
  const fresh = await freshStore()
  await makeBucket(fresh.store, 'bucket', 'locked')
  const { id } = await put(fresh.store, 'bucket', 'key', 'bytes')
  await fresh.store.objects.setHold({ bucket: 'bucket', key: 'key' }, true)
  fresh.disk.freeBytes = 1000
  const store = await openOn(fresh)
  const before = (await store.ledger.entries('bucket')).length
  assert.equal(await faultOf(remove(store, 'bucket', 'key', id)), 'InsufficientStorage')
  assert.equal((await store.ledger.entries('bucket')).length, before)
  assert.equal((await store.objects.head({ bucket: 'bucket', key: 'key' })).lock.hold, true)
  await store.objects.setHold({ bucket: 'bucket', key: 'key' }, false)
  await remove(store, 'bucket', 'key', id)
})

test('compaction frees dead bytes and keeps live ones, by its threshold', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  for (let n = 0; n < 12; n++) await put(store, 'bucket', `key-${n}`, payload(50_000, n))
  await store.context.blobs.closeVolume()
  const used = async () => (await store.context.blobs.volumes()).reduce((sum, volume) => sum + volume.bytes, 0)
  const before = await used()
  for (let n = 0; n < 12; n++) if (n % 4 !== 0) await remove(store, 'bucket', `key-${n}`)
  await runUntilIdle(new Reclaimer(store.context))
  const lazy = new Compactor(store.context, 0.95)
  await runUntilIdle(lazy)
  assert.equal(await used(), before, 'too little was dead')
  await runUntilIdle(new Compactor(store.context, 0.5))
  await runUntilIdle(new Reclaimer(store.context))
  assert.ok((await used()) < before / 2, `${await used()} of ${before} bytes are left`)
  assert.deepEqual((await fsck(store.context)).problems, [])
  for (let n = 0; n < 12; n += 4) {
    assert.ok((await bytesOf(store, { bucket: 'bucket', key: `key-${n}` })).equals(payload(50_000, n)))
  }
})

test('compaction resumes after a crash', async () => {
  for (let calls = 1; calls <= 40; calls += 3) {
    const fresh = await freshStore(calls)
    const { store, disk } = fresh
    await makeBucket(store, 'bucket')
    for (let n = 0; n < 6; n++) await put(store, 'bucket', `key-${n}`, payload(30_000, n))
    await store.context.blobs.closeVolume()
    for (const n of [0, 2, 4]) await remove(store, 'bucket', `key-${n}`)
    await runUntilIdle(new Reclaimer(store.context))
    disk.failAt(calls)
    await runUntilIdle(new Compactor(store.context, 0.1)).catch(() => undefined)
    disk.failAt(0)
    const after = { ...fresh, disk: disk.powerCut(fresh.random) }
    const again = await openOn(after)
    await settle(again)
    await assertWhole(again)
    for (const n of [1, 3, 5]) {
      assert.ok(
        (await bytesOf(again, { bucket: 'bucket', key: `key-${n}` })).equals(payload(30_000, n)),
        `call ${calls}`,
      )
    }
  }
})

/** Flips one bit of a stored file. */
async function flip(disk: Disk, path: string, at: number): Promise<void> {
  const file = await disk.open(path, 'read')
  const bytes = Buffer.alloc(await file.size())
  await file.read([bytes], 0)
  await file.close()
  bytes[at]! ^= 1
  await disk.remove(path)
  const changed = await disk.open(path, 'create')
  await changed.write([bytes], 0)
  await changed.close()
}

test('the scrub finds a flipped bit in packed and solo blobs, and names affected objects and parts', async () => {
  for (const size of [50_000, 100_000]) {
    const fresh = await freshStore()
    const { store, disk } = fresh
    await makeBucket(store, 'bucket', 'on')
    const { id: versionId } = await put(store, 'bucket', 'hurt', payload(size))
    const from = { bucket: 'bucket', key: 'hurt' }
    const copied = await store.copies.copy({ from, to: { bucket: 'bucket', key: 'copy' }, owner: OWNER })
    const upload = await begin(store)
    await store.uploads.copyPart({ ...upload, number: 3, from })
    let path: string | undefined
    let offset = 0
    for await (const entry of recordsOf(store.context, 'b')) {
      const record = blobFormat.decode(entry.value)
      const id = entry.key.toString('hex', 1)
      path = record.volume === undefined ? join('solo', id.slice(-2), id) : join('volumes', record.volume)
      offset = record.offset
    }
    await put(store, 'bucket', 'fine', payload(size, 2))
    const clean = new Scrubber(store.context)
    await runUntilIdle(clean)
    assert.deepEqual(await clean.report(), [])
    assert.ok(clean.bytes >= 2 * size)
    await flip(disk, join(FOLDER, 'blobs', path!), offset + 5000)
    const again = await openOn(fresh)
    const scrubber = new Scrubber(again.context)
    await runUntilIdle(scrubber)
    const [damage, ...more] = await scrubber.report()
    assert.deepEqual(more, [])
    assert.equal(damage?.what, 'blob')
    assert.deepEqual(damage?.objects.map(({ key, versionId: id }) => [key, id]).sort(), [
      ['copy', copied.version.id],
      ['hurt', versionId],
    ])
    assert.deepEqual(damage?.parts, [{ uploadId: upload.uploadId, number: 3 }])
    await assert.rejects(bytesOf(again, { bucket: 'bucket', key: 'copy' }), { name: 'DamagedBlob' })
    assert.ok((await bytesOf(again, { bucket: 'bucket', key: 'fine' })).equals(payload(size, 2)))
  }
})

test('the scrub names an object with damage in a nested content', async () => {
  const fresh = await freshStore()
  const { store, disk } = fresh
  await makeBucket(store, 'bucket')
  const upload = await begin(store)
  const parts = []
  for (let number = 1; number <= 6; number++) {
    parts.push(await store.uploads.putPart({ ...upload, number, body: [payload(PART_BYTES_MIN, number)] }))
  }
  await store.completion.complete({ ...upload, parts })
  const next = await begin(store)
  const whole = await store.uploads.copyPart({ ...next, number: 1, from: { bucket: 'bucket', key: 'key' } })
  await store.completion.complete({ ...next, parts: [whole] })
  await settle(store)
  const solos: string[] = []
  for await (const id of store.context.blobs.solos()) solos.push(id.toString('hex'))
  const name = solos[3]!
  await flip(disk, join(FOLDER, 'blobs', 'solo', name.slice(-2), name), 1_000_000)
  const again = await openOn(fresh)
  const scrubber = new Scrubber(again.context)
  await runUntilIdle(scrubber)
  const damage = await scrubber.report()
  assert.deepEqual(
    damage.map(({ objects }) => objects.map(({ key }) => key)),
    [['key']],
  )
})

test('a step of the scrub is bounded in bytes, and a round reads everything once', async () => {
  const { store } = await freshStore()
  const { context } = store
  await makeBucket(store, 'bucket')
  for (let n = 0; n < 100; n++) await put(store, 'bucket', `key-${n}`, payload(5000, n))
  // Each of them is too long for a test to write.
  const megabyte = Buffer.alloc(2 ** 20)
  const seen: string[] = []
  const long = async function* (id: Buffer) {
    seen.push(id.toString('hex'))
    for (let n = 0; n < 3; n++) yield megabyte
  }
  const blobs = { read: (id: Buffer) => long(id) } as unknown as typeof context.blobs
  const scrubber = new Scrubber({ ...context, blobs })
  let steps = 0
  for (let said = 'busy'; said === 'busy'; steps++) {
    const before = scrubber.bytes
    said = await scrubber.step()
    assert.ok(scrubber.bytes - before < 67 * 2 ** 20, `${scrubber.bytes - before} bytes in one step`)
  }
  assert.equal(steps, 5)
  assert.equal(scrubber.bytes, 300 * 2 ** 20)
  assert.equal(new Set(seen).size, 100)
  assert.equal(seen.length, 100)
  const clean = new Scrubber(context)
  await runUntilIdle(clean)
  assert.equal(scrubber.records, clean.records)
})

test('compaction does not copy damage: the volume stays, and reading the object fails', async () => {
  const fresh = await freshStore()
  const { store, disk } = fresh
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'dead', payload(30_000, 1))
  await put(store, 'bucket', 'hurt', payload(30_000, 2))
  await store.context.blobs.closeVolume()
  const [volume] = await store.context.blobs.volumes()
  await flip(disk, join(FOLDER, 'blobs', 'volumes', volume!.name), volume!.bytes - 10_000)
  const again = await openOn(fresh)
  await remove(again, 'bucket', 'dead')
  await runUntilIdle(new Reclaimer(again.context))
  await runUntilIdle(new Compactor(again.context, 0.1))
  await runUntilIdle(new Reclaimer(again.context))
  assert.ok((await again.context.blobs.volumes()).some(({ name }) => name === volume!.name))
  await assert.rejects(bytesOf(again, { bucket: 'bucket', key: 'hurt' }), { name: 'DamagedBlob' })
})

test('fsck lists held versions, and reports one whose blob record is missing', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const { id } = await put(store, 'bucket', 'key', payload(5000))
  await store.objects.setHold({ bucket: 'bucket', key: 'key' }, true)
  assert.deepEqual((await fsck(store.context)).held, [`bucket/key@${id}`])
  assert.deepEqual((await fsck(store.context)).problems, [])
  for await (const entry of recordsOf(store.context, 'b')) {
    await store.context.meta.commit({ checks: [], writes: [{ key: entry.key, value: undefined }] })
  }
  assert.match((await fsck(store.context)).problems.join('\n'), /is referenced, but has no record/)
})

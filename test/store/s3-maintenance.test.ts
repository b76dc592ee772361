/** Maintenance of a store whose blobs are objects of another: merging, reclaiming, sweeping and checking. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Keyring } from '../../src/crypto/keyring.ts'
import { keyringInFolder } from '../../src/crypto/keyring-file.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { Ids } from '../../src/lib/ids.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import { Store } from '../../src/store/store.ts'
import { BELOW_PREFIX, type StoreBelow, withStoreBelow } from '../blobs/s3-fixture.ts'
import { assertWhole, bytesOf, chance, FOLDER, makeBucket, payload, put, remove } from './fixture.ts'

const BYTES = 6000

async function withS3Store(use: (store: Store, below: StoreBelow) => Promise<void>): Promise<void> {
  await withStoreBelow(async below => {
    const [disk, random] = [new MemoryDisk(), chance(1)]
    await disk.makeFolder(FOLDER)
    const ids = new Ids(random)
    const blobs = below.open({ writer: ids.writer })
    const [meta, keyring] = [
      await openMemoryMeta(),
      await Keyring.open({ storage: keyringInFolder(disk, FOLDER), random }),
    ]
    const store = await Store.open({ meta, blobs, keyring, clock: new ManualClock(), random, ids })
    await makeBucket(store, 'bucket')
    await use(store, below)
    await assertWhole(store)
  })
}

const volumes = async (store: Store): Promise<number> => (await store.context.blobs.volumes()).length

async function compact(store: Store): Promise<void> {
  await runUntilIdle(new Compactor(store.context))
  await runUntilIdle(new Reclaimer(store.context))
}

async function fill(store: Store, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n++) await put(store, 'bucket', `key-${n}`, payload(BYTES, n))
}

async function assertThere(store: Store, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n++) {
    assert((await bytesOf(store, { bucket: 'bucket', key: `key-${n}` })).equals(payload(BYTES, n)))
  }
}

test('many tiny volumes are merged into one, and few are left alone', () =>
  withS3Store(async store => {
    await fill(store, 0, 15)
    assert.equal(await volumes(store), 15, 'one volume for each write that arrives alone')
    await compact(store)
    assert.equal(await volumes(store), 15, 'too few to be worth a merge')
    await fill(store, 15, 45)
    await compact(store)
    assert.equal(await volumes(store), 1)
    await assertThere(store, 0, 60)
    await compact(store)
    assert.equal(await volumes(store), 1, 'a merged volume is not merged again by itself')
  }))

test('merging skips dead blobs', () =>
  withS3Store(async (store, { direct }) => {
    await fill(store, 0, 40)
    for (let n = 0; n < 20; n++) await remove(store, 'bucket', `key-${n}`)
    await runUntilIdle(new Reclaimer(store.context))
    await compact(store)
    const [{ name, bytes } = { name: '', bytes: 0 }] = await store.context.blobs.volumes()
    assert(bytes < 20 * (BYTES + 100) + 4096, `${bytes} bytes`)
    assert.equal(
      (await direct({ method: 'HEAD', key: `${BELOW_PREFIX}volumes/${name}` })).headers.get('content-length'),
      String(bytes),
    )
    await assertThere(store, 20, 20)
  }))

test('a merge that the store below interrupts loses nothing and is repeated', () =>
  withS3Store(async (store, { hf }) => {
    await fill(store, 0, 20)
    const full = hf.faults.add({ match: { method: 'PUT' }, times: 1, fault: 'disk-full' })
    await compact(store)
    assert.equal(full.hits, 1)
    await assertThere(store, 0, 20)
    await compact(store)
    assert.equal(await volumes(store), 1)
    await assertThere(store, 0, 20)
  }))

test('the sweep frees solo objects without a record, and abandoned uploads', () =>
  withS3Store(async (store, { direct, keys }) => {
    await put(store, 'bucket', 'long', payload(2 * 2 ** 20))
    const kept = await keys()
    const orphan = store.context.ids.next()
    const abandoned = store.context.ids.next().toString('hex')
    await store.context.blobs.write(orphan, [payload(2 * 2 ** 20)])
    const key = `${BELOW_PREFIX}solo/${abandoned.slice(-2)}/${abandoned}`
    await direct({ method: 'POST', key, query: { uploads: '' } })
    const sweeper = new Sweeper(store.context)
    await runUntilIdle(sweeper)
    assert.equal(sweeper.removed, 2)
    assert.deepEqual(await keys(), kept)
    const { body } = await direct({ method: 'GET', query: { uploads: '' } })
    assert.doesNotMatch(body.toString(), /<UploadId>/)
  }))

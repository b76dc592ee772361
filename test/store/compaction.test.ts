import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { DiskFile } from '../../src/lib/disk.ts'
import type { MemoryDisk } from '../../src/lib/memory-disk.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { recordsOf } from '../../src/maintenance/records.ts'
import type { Meta } from '../../src/meta/meta.ts'
import { blobFormat } from '../../src/model/content.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { transact } from '../../src/store/commit/transaction.ts'
import type { Store } from '../../src/store/store.ts'
import {
  ANY_DEAD,
  assertWhole,
  bytesOf,
  FOLDER,
  faultOf,
  freshStore,
  gate,
  makeBucket,
  openOn,
  payload,
  put,
  remove,
  settle,
} from './fixture.ts'

const VOLUMES = join(FOLDER, 'blobs', 'volumes')
const BYTES = 50_000

/** This many volumes of four objects each, `v0-0` to `v<count - 1>-3`, all closed. */
async function fillVolumes(store: Store, count: number): Promise<void> {
  await makeBucket(store, 'bucket')
  for (let volume = 0; volume < count; volume++) {
    for (let n = 0; n < 4; n++) await put(store, 'bucket', `v${volume}-${n}`, payload(BYTES, n))
    await store.context.blobs.closeVolume()
  }
}

/** Removes the first `count` objects of a volume and reclaims their bytes. */
async function kill(store: Store, volume: number, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await remove(store, 'bucket', `v${volume}-${n}`)
  await runUntilIdle(new Reclaimer(store.context))
}

/** One round of compaction, whose old volumes are gone from the disk afterwards. */
async function compact(store: Store, compactor = new Compactor(store.context)): Promise<'busy' | 'idle'> {
  const said = await compactor.step()
  await runUntilIdle(new Reclaimer(store.context))
  return said
}

const volumesOf = async (store: Store): Promise<string[]> =>
  (await store.context.blobs.volumes()).map(({ name }) => name).sort()

/** Commits that write the current version of this key call `reached` and wait. */
function holding(meta: Meta, key: string, reached: () => void, until: Promise<void>): Meta {
  return {
    get: address => meta.get(address),
    scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    close: () => meta.close(),
    commit: async tx => {
      if (tx.writes.some(write => write.key[0] === 'o'.charCodeAt(0) && write.key.includes(key))) {
        reached()
        await until
      }
      return meta.commit(tx)
    },
  }
}

/** The next sync of the volumes' folder waits for `until`; resolves when it has been called. */
function slowFolderSync(disk: MemoryDisk, until: Promise<void>): Promise<void> {
  const sync = disk.syncFolder.bind(disk)
  return new Promise(reached => {
    disk.syncFolder = async path => {
      if (path === VOLUMES) {
        disk.syncFolder = sync
        reached()
        await until
      }
      return sync(path)
    }
  })
}

test('a volume that is being made counts as open', async () => {
  const { store, disk } = await freshStore()
  await makeBucket(store, 'bucket')
  const made = gate()
  const reached = slowFolderSync(disk, made.opened)
  const putting = put(store, 'bucket', 'key', payload(BYTES))
  await reached
  assert.deepEqual(
    (await store.context.blobs.volumes()).map(({ open }) => open),
    [true],
  )
  await assert.rejects(store.context.blobs.removeVolume((await volumesOf(store))[0]!), /still being written/)
  made.open()
  await putting
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'key' })).equals(payload(BYTES)))
})

test('a volume that could not be made is not open, even if its file stays', async () => {
  // Opening, writing, syncing the file, syncing its folder.
  for (const call of [1, 2, 3, 4]) {
    const { store, disk } = await freshStore()
    await makeBucket(store, 'bucket')
    await put(store, 'bucket', 'first', payload(BYTES))
    await store.context.blobs.closeVolume()
    const unlink = disk.remove.bind(disk)
    disk.remove = async () => {
      throw Object.assign(new Error('EIO: unlink'), { code: 'EIO' })
    }
    disk.failAt(call)
    await assert.rejects(put(store, 'bucket', 'key', payload(BYTES)), { code: 'EIO' })
    disk.failAt(0)
    disk.remove = unlink
    const volumes = await store.context.blobs.volumes()
    assert.equal(volumes.length, call === 1 ? 1 : 2)
    assert.ok(volumes.every(({ open }) => !open))
    await settle(store)
    await assertWhole(store)
    await put(store, 'bucket', 'key', payload(BYTES, 2))
    assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'key' })).equals(payload(BYTES, 2)))
  }
})

test('volumes that are wholly dead can be removed without moving anything', async () => {
  const { store } = await freshStore()
  await fillVolumes(store, 3)
  const [dead, half, whole] = await volumesOf(store)
  await kill(store, 0, 4)
  await kill(store, 1, 3)
  const compactor = new Compactor(store.context)
  const release = await store.context.reclamationLock.hold()
  await compactor.removeDead()
  release()
  await runUntilIdle(new Reclaimer(store.context))
  assert.deepEqual(await volumesOf(store), [dead, half, whole])
  await compactor.removeDead()
  await runUntilIdle(new Reclaimer(store.context))
  assert.deepEqual(await volumesOf(store), [half, whole])
  await assertWhole(store)
  assert.equal(await compact(store, compactor), 'busy')
  assert.equal((await volumesOf(store)).includes(half!), false)
  await assertWhole(store)
})

test('compaction tells how long its survey took, also when it failed', async () => {
  const timed: { read?: () => void } = {}
  const { store, clock } = await freshStore(1, meta => ({
    get: address => meta.get(address),
    commit: tx => meta.commit(tx),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    close: () => meta.close(),
    scan: (range, limit, reverse) => {
      timed.read?.()
      return meta.scan(range, limit, reverse)
    },
  }))
  await fillVolumes(store, 2)
  timed.read = () => clock.move(10)
  const compactor = new Compactor(store.context)
  await compactor.removeDead()
  assert.equal(compactor.surveyMs, 20)
  timed.read = () => {
    clock.move(10)
    throw new Error('unreadable')
  }
  await assert.rejects(compactor.step(), /unreadable/)
  assert.equal(compactor.surveyMs, 10)
})

test('compaction waits for drafts of a closed volume, even if it saw the volume being created', async () => {
  const [written, committing] = [gate(), gate()]
  const { store, disk } = await freshStore(1, meta => holding(meta, 'victim', written.open, committing.opened))
  const { context } = store
  await makeBucket(store, 'bucket')
  const compactor = new Compactor(context, ANY_DEAD)
  const made = gate()
  const reached = slowFolderSync(disk, made.opened)
  const first = put(store, 'bucket', 'first', payload(BYTES))
  await reached
  await compactor.step()
  made.open()
  await first
  await remove(store, 'bucket', 'first')
  await runUntilIdle(new Reclaimer(context))
  // The bytes of the next one are in that volume, and its commit is pending, while the volume closes.
  const victim = put(store, 'bucket', 'victim', payload(BYTES, 9))
  await written.opened
  await context.blobs.closeVolume()
  assert.equal(context.drafts.count, 1)
  for (let round = 0; round < 3; round++) assert.equal(await compact(store, compactor), 'idle')
  committing.open()
  await victim
  await compact(store, compactor)
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'victim' })).equals(payload(BYTES, 9)))
  await settle(store)
  await assertWhole(store)
})

test('compaction discards its notes about a volume that is appended to again', async () => {
  const [written, committing] = [gate(), gate()]
  const { store } = await freshStore(1, meta => holding(meta, 'victim', written.open, committing.opened))
  const { blobs } = store.context
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'first', payload(BYTES))
  // Blobs that report a volume as closed too early: compaction notes that it has no draft.
  let early = true
  const told: typeof blobs = {
    ensureSpace: bytes => blobs.ensureSpace(bytes),
    write: (id, body, frameBytes) => blobs.write(id, body, frameBytes),
    read: (id, location, start, end) => blobs.read(id, location, start, end),
    readAtOnce: (id, location, start, end) => blobs.readAtOnce(id, location, start, end),
    remove: (id, location) => blobs.remove(id, location),
    volumes: async () => (await blobs.volumes()).map(volume => (early ? { ...volume, open: false } : volume)),
    entries: volume => blobs.entries(volume),
    closeVolume: () => blobs.closeVolume(),
    closeIdle: () => blobs.closeIdle(),
    removeVolume: volume => blobs.removeVolume(volume),
    solos: () => blobs.solos(),
    close: () => blobs.close(),
  }
  const compactor = new Compactor({ ...store.context, blobs: told }, ANY_DEAD)
  assert.equal(await compactor.step(), 'idle')
  early = false
  assert.equal(await compactor.step(), 'idle')
  await remove(store, 'bucket', 'first')
  await runUntilIdle(new Reclaimer(store.context))
  const victim = put(store, 'bucket', 'victim', payload(BYTES, 9))
  await written.opened
  await blobs.closeVolume()
  assert.equal(await compact(store, compactor), 'idle')
  committing.open()
  await victim
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'victim' })).equals(payload(BYTES, 9)))
})

test('on a full disk compaction frees fully dead volumes and keeps the others until space is free', async () => {
  const fresh = await freshStore()
  await fillVolumes(fresh.store, 5)
  const last = (await fresh.store.context.blobs.volumes()).at(-1)!.name
  for (let volume = 0; volume < 4; volume++) await kill(fresh.store, volume, 4)
  await kill(fresh.store, 4, 3)
  fresh.disk.freeBytes = -1
  const store = await openOn(fresh)
  assert.equal(await faultOf(put(store, 'bucket', 'key', payload(BYTES))), 'InsufficientStorage')
  assert.equal(await compact(store), 'busy')
  assert.deepEqual(await volumesOf(store), [last])
  assert.equal(await compact(store), 'idle')
  assert.deepEqual(await volumesOf(store), [last])
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'v4-3' })).equals(payload(BYTES, 3)))
  fresh.disk.freeBytes = 2 ** 50
  assert.equal(await compact(store), 'busy')
  const left = await volumesOf(store)
  assert.deepEqual([left.length, left.includes(last)], [1, false])
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'v4-3' })).equals(payload(BYTES, 3)))
  await settle(store)
  await assertWhole(store)
})

test('compaction frees more volumes than fit one commit', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  for (let n = 0; n < 300; n++) {
    await put(store, 'bucket', 'key', payload(5000, n))
    await store.context.blobs.closeVolume()
  }
  await runUntilIdle(new Reclaimer(store.context))
  assert.equal((await volumesOf(store)).length, 300)
  assert.equal(await compact(store), 'busy')
  assert.equal((await volumesOf(store)).length, 1)
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'key' })).equals(payload(5000, 299)))
  await assertWhole(store)
})

test('compaction moves blobs out of more volumes than fit one commit', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  for (let n = 0; n < 300; n++) {
    await put(store, 'bucket', `live-${n}`, payload(5000, n))
    await put(store, 'bucket', 'dead', payload(50_000))
    await store.context.blobs.closeVolume()
  }
  await remove(store, 'bucket', 'dead')
  await runUntilIdle(new Reclaimer(store.context))
  assert.equal(await compact(store), 'busy')
  assert.ok((await volumesOf(store)).length < 20)
  for (const n of [0, 150, 299]) {
    assert.ok((await bytesOf(store, { bucket: 'bucket', key: `live-${n}` })).equals(payload(5000, n)))
  }
  await assertWhole(store)
})

/** Makes the byte at `position` of this file unreadable. */
function spoil(disk: MemoryDisk, path: string, position: number): void {
  const open = disk.open.bind(disk)
  disk.open = async (name, how) => {
    const file = await open(name, how)
    if (name !== path || how !== 'read') return file
    const spoilt: DiskFile = {
      write: (pieces, at) => file.write(pieces, at),
      read: async (into, at) => {
        const bytes = into.reduce((sum, piece) => sum + piece.length, 0)
        if (at <= position && position < at + bytes) {
          throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
        }
        return file.read(into, at)
      },
      datasync: () => file.datasync(),
      size: () => file.size(),
      close: () => file.close(),
    }
    return spoilt
  }
}

test('an unreadable sector keeps its volume and delays no other', async () => {
  const fresh = await freshStore()
  await fillVolumes(fresh.store, 3)
  const [first, second, third] = (await fresh.store.context.blobs.volumes()).map(({ name }) => name)
  await kill(fresh.store, 0, 3)
  await kill(fresh.store, 1, 4)
  await kill(fresh.store, 2, 3)
  for await (const entry of recordsOf(fresh.store.context, 'b')) {
    const { volume, offset } = blobFormat.decode(entry.value)
    if (volume === first) spoil(fresh.disk, join(VOLUMES, volume!), offset + BYTES - 1000)
  }
  const store = await openOn(fresh)
  const compactor = new Compactor(store.context)
  assert.equal(await compact(store, compactor), 'busy')
  assert.deepEqual(
    compactor.damaged.map(error => (error as NodeJS.ErrnoException).code),
    ['EIO'],
  )
  const left = await volumesOf(store)
  assert.deepEqual(
    [first, second, third].map(name => left.includes(name!)),
    [true, false, false],
  )
  assert.equal(await compact(store, compactor), 'idle')
  await assert.rejects(bytesOf(store, { bucket: 'bucket', key: 'v0-3' }), { code: 'EIO' })
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'v2-3' })).equals(payload(BYTES, 3)))
})

test('requests are served while compaction surveys many blobs', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', payload(50_000))
  await store.context.blobs.closeVolume()
  const blob = { volume: 'aabbccddeeff-1', offset: 4096, storedLength: 1, frameBytes: 1, length: 1, referenceCount: 1 }
  const value = blobFormat.encode({ ...blob, storageKey: undefined })
  for (let commit = 0; commit < 20; commit++) {
    await transact(store.context, async tx => {
      for (let i = 0; i < 100; i++) tx.put(recordKey.blob(store.context.ids.next()), value)
    })
  }
  let [turns, isOver] = [0, false]
  const watch = (): void => {
    turns++
    if (!isOver) setImmediate(watch)
  }
  setImmediate(watch)
  await new Compactor(store.context).removeDead()
  isOver = true
  assert(turns >= 5, `${turns} turns of the event loop`)
})

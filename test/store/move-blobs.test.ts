/** All blobs move from one place to another while the store is used, and after every crash on the way. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Blobs } from '../../src/blobs/blobs.ts'
import { openBlobs } from '../../src/blobs/file-blobs.ts'
import { MovingBlobs } from '../../src/blobs/moving-blobs.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { keyringInFolder } from '../../src/crypto/keyring-file.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { Ids } from '../../src/lib/ids.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import type { Random } from '../../src/lib/random.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { BlobMover } from '../../src/maintenance/move-blobs.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import type { Meta } from '../../src/meta/meta.ts'
import { enterBlobsMove } from '../../src/server/blobs-move.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { readBlobsMove } from '../../src/store/content/blobs-move.ts'
import { Store } from '../../src/store/store.ts'
import {
  assertWhole,
  bytesOf,
  chance,
  FOLDER,
  gate,
  makeBucket,
  OWNER,
  payload,
  put,
  remove,
  settle,
} from './fixture.ts'

const OLD = '/old/blobs'
const NEW = '/new/blobs'
const PACKED = 5_000
const SOLO = 200_000

interface Ground {
  readonly disk: MemoryDisk
  readonly meta: Meta
  readonly clock: ManualClock
  readonly random: Random
}

type Place = { readonly to: string; readonly from?: string }

/** A start of the server with its blobs in one place, or between two. */
async function start({ disk, meta, clock, random }: Ground, { to, from }: Place): Promise<Store> {
  await enterBlobsMove(meta, { folder: FOLDER, blobsPlace: to, blobsFrom: from }, true)
  await disk.makeFolder(FOLDER)
  const keyring = await Keyring.open({ storage: keyringInFolder(disk, FOLDER), random })
  const ids = new Ids(random)
  const limits = { packedBytesMax: 64 * 1024, volumeBytesMax: 256 * 1024, reserveBytes: 0 }
  const open = (folder: string): Promise<Blobs> => openBlobs({ disk, folder, writer: ids.writer, ...limits })
  const blobs = from === undefined ? await open(to) : new MovingBlobs(await open(from), await open(to))
  return Store.open({ meta, blobs, keyring, clock, random, ids })
}

async function freshGround(seed = 1): Promise<Ground> {
  const disk = new MemoryDisk({ crashable: true })
  return { disk, meta: await openMemoryMeta(), clock: new ManualClock(), random: chance(seed) }
}

/** Key and bytes of every version that must survive. */
type Kept = Map<string, { readonly versionId: string; readonly bytes: Buffer }>

/** Packed and solo objects, versions, a held one, a copy that shares its blobs, an upload in progress. */
async function fill(store: Store): Promise<Kept> {
  const kept: Kept = new Map()
  await makeBucket(store, 'bucket', 'locked')
  const keep = async (label: string, key: string, bytes: Buffer): Promise<string> => {
    const { id } = await put(store, 'bucket', key, bytes)
    kept.set(label, { versionId: id, bytes })
    return id
  }
  for (let n = 0; n < 6; n++) await keep(`packed-${n}`, `packed-${n}`, payload(PACKED + n, n))
  for (let n = 0; n < 3; n++) await keep(`solo-${n}`, `solo-${n}`, payload(SOLO + n, n))
  const held = await keep('held', 'packed-0', payload(PACKED, 77))
  await store.objects.setHold({ bucket: 'bucket', key: 'packed-0', versionId: held }, true)
  return kept
}

const keyOf = (label: string): string => (label === 'held' ? 'packed-0' : label)

async function assertKept(store: Store, kept: Kept): Promise<void> {
  for (const [label, { versionId, bytes }] of kept) {
    const found = await bytesOf(store, { bucket: 'bucket', key: keyOf(label), versionId })
    assert(found.equals(bytes), label)
  }
}

const moverOf = ({ context }: Store): BlobMover => new BlobMover(context, context.blobs.moving!)

const stateOf = async (meta: Meta): Promise<string | undefined> => (await readBlobsMove(meta))?.move.state

/** A name is in the place: a volume, or a blob of its own. */
async function namesIn(disk: MemoryDisk, place: string): Promise<string[]> {
  const names = [...(await disk.list(join(place, 'volumes')))]
  for (const folder of await disk.list(join(place, 'solo')))
    names.push(...(await disk.list(join(place, 'solo', folder))))
  return names
}

test('all blobs are moved while the store is in use, and the old place is empty afterwards', async () => {
  const ground = await freshGround()
  const before = await start(ground, { to: OLD })
  const kept = await fill(before)
  const { id } = await before.uploads.create({ bucket: 'bucket', key: 'open', initiator: OWNER, owner: OWNER })
  const upload = { bucket: 'bucket', key: 'open', uploadId: id.toString('hex') }
  const part = payload(SOLO, 9)
  const { etag } = await before.uploads.putPart({ ...upload, number: 1, body: [part] })
  await before.context.blobs.close()
  const store = await start(ground, { to: NEW, from: OLD })
  await assertKept(store, kept)
  const mover = moverOf(store)
  for (let n = 0; (await mover.step()) === 'busy'; n++) {
    const bytes = payload(PACKED, 100 + n)
    const { id: versionId } = await put(store, 'bucket', `new-${n}`, bytes)
    kept.set(`new-${n}`, { versionId, bytes })
    await assertKept(store, kept)
  }
  assert.equal(await stateOf(ground.meta), 'moved')
  await settle(store)
  await assertWhole(store)
  assert.deepEqual(await namesIn(ground.disk, OLD), [])
  await store.context.blobs.close()
  const after = await start(ground, { to: NEW })
  await assertKept(after, kept)
  await after.completion.complete({ ...upload, parts: [{ number: 1, etag }] })
  assert((await bytesOf(after, { bucket: 'bucket', key: 'open' })).equals(part))
  await assertWhole(after)
})

test('a move that fails at any disk call loses nothing and resumes after a restart', async () => {
  let calls = 1
  for (let isComplete = false; !isComplete; calls += 3) {
    const ground = await freshGround()
    const before = await start(ground, { to: OLD })
    const kept = await fill(before)
    await before.context.blobs.close()
    const store = await start(ground, { to: NEW, from: OLD })
    const callsBefore = ground.disk.calls
    ground.disk.failAt(calls)
    await runUntilIdle(moverOf(store)).catch(() => undefined)
    isComplete = ground.disk.calls - callsBefore < calls
    ground.disk.failAt(0)
    const wasMoved = (await stateOf(ground.meta)) === 'moved'
    // Unsynced writes are gone.
    const disk = ground.disk.powerCut(chance(calls))
    const again = await start({ ...ground, disk }, { to: NEW, from: OLD })
    await assertKept(again, kept)
    await runUntilIdle(moverOf(again))
    assert.equal(await stateOf(ground.meta), 'moved', `after a failure at call ${calls}`)
    await settle(again)
    // A complete move is not repeated when a file that it removed is back after the power cut.
    if (!wasMoved) assert.deepEqual(await namesIn(disk, OLD), [])
    await again.context.blobs.close()
    const after = await start({ ...ground, disk }, { to: NEW })
    await assertWhole(after)
    await assertKept(after, kept)
  }
  assert(calls > 30, `the move made only ${calls} calls`)
})

test('known-bad control: a mover that names a copy before it is durable is caught by a power cut', async () => {
  const ground = await freshGround()
  const before = await start(ground, { to: OLD })
  const kept = await fill(before)
  await before.context.blobs.close()
  const store = await start(ground, { to: NEW, from: OLD })
  const { source, target } = store.context.blobs.moving!
  const { disk } = ground
  // Syncs to the new place are answered without being done.
  const open = disk.open.bind(disk)
  disk.open = async (path, how) => {
    const file = await open(path, how)
    return path.startsWith(NEW) ? Object.assign(file, { datasync: async () => {} }) : file
  }
  await runUntilIdle(new BlobMover(store.context, { source, target }))
  await runUntilIdle(new Reclaimer(store.context))
  const after = await start({ ...ground, disk: disk.powerCut(chance(5)) }, { to: NEW })
  await assert.rejects(assertKept(after, kept))
})

test('nothing is freed in the old place while a reader or a backup may use it', async () => {
  const ground = await freshGround()
  const before = await start(ground, { to: OLD })
  const kept = await fill(before)
  await before.context.blobs.close()
  const store = await start(ground, { to: NEW, from: OLD })
  const mover = moverOf(store)
  const solos = async (): Promise<number> => (await namesIn(ground.disk, OLD)).filter(name => name.length === 32).length
  const there = await solos()
  const pin = store.context.readers.enter()
  await runUntilIdle(mover)
  assert.deepEqual([await solos(), mover.isWaiting, await stateOf(ground.meta)], [there, true, 'moving'])
  store.context.readers.leave(pin)
  const release = await store.context.reclamationLock.hold()
  await runUntilIdle(mover)
  assert.deepEqual([await solos(), await stateOf(ground.meta)], [there, 'moving'])
  release()
  await runUntilIdle(mover)
  assert.deepEqual([await solos(), await stateOf(ground.meta)], [0, 'moved'])
  await assertKept(store, kept)
})

test('P1: compaction leaves a volume in which a copy of a held object is not named yet', async () => {
  const ground = await freshGround()
  const before = await start(ground, { to: OLD })
  await makeBucket(before, 'bucket', 'locked')
  const bytes = payload(PACKED, 1)
  const { id: versionId } = await put(before, 'bucket', 'held', bytes)
  await before.objects.setHold({ bucket: 'bucket', key: 'held', versionId }, true)
  await before.context.blobs.close()
  const store = await start(ground, { to: NEW, from: OLD })
  const { target } = store.context.blobs.moving!
  const [isCopied, mayCompare] = [gate(), gate()]
  const read = target.read.bind(target)
  target.read = async function* (...where) {
    isCopied.open()
    await mayCompare.opened
    yield* read(...where)
  }
  const moving = moverOf(store).step()
  await isCopied.opened
  // A failed write closes the volume that has the copy.
  ground.disk.failAt(1)
  await assert.rejects(put(store, 'bucket', 'other', bytes))
  ground.disk.failAt(0)
  await new Compactor(store.context).step()
  mayCompare.open()
  await moving
  target.read = read
  await runUntilIdle(moverOf(store))
  await settle(store)
  assert((await bytesOf(store, { bucket: 'bucket', key: 'held' })).equals(bytes))
  await assertWhole(store)
})

test('a move is not complete while the record of a blob is lost', async () => {
  const ground = await freshGround()
  const before = await start(ground, { to: OLD })
  const kept = await fill(before)
  await before.context.blobs.close()
  const store = await start(ground, { to: NEW, from: OLD })
  const { losses } = store.context
  losses.replace({ keys: [recordKey.blob(Buffer.alloc(16))], more: [] })
  await runUntilIdle(moverOf(store))
  assert.equal(await stateOf(ground.meta), 'moving')
  losses.replace({ keys: [], more: [] })
  await runUntilIdle(moverOf(store))
  assert.equal(await stateOf(ground.meta), 'moved')
  await assertKept(store, kept)
})

interface SuspendedMove {
  readonly target: Blobs
  readonly mover: BlobMover
  /** Another mover completes the move; the first call starts it. */
  readonly complete: () => Promise<void>
  /** Fails unless that has happened and nothing is lost. */
  readonly check: () => Promise<void>
}

/** A move that another mover completes at a moment that the test chooses. */
async function suspendedMove(): Promise<SuspendedMove> {
  const ground = await freshGround()
  const before = await start(ground, { to: OLD })
  const kept = await fill(before)
  await before.context.blobs.close()
  const suspended = await start(ground, { to: NEW, from: OLD })
  let completing: Promise<void> | undefined
  const run = async (): Promise<void> => runUntilIdle(moverOf(await start(ground, { to: NEW, from: OLD })))
  return {
    target: suspended.context.blobs.moving!.target,
    mover: moverOf(suspended),
    complete: () => {
      completing ??= run()
      return completing
    },
    check: async () => {
      assert.notEqual(completing, undefined)
      await assertKept(await start(ground, { to: NEW }), kept)
    },
  }
}

/** Calls back where a copy is looked for and missing. */
function whenMissing(target: Blobs, call: () => void | Promise<void>): void {
  const read = target.read.bind(target)
  target.read = async function* (...where) {
    try {
      yield* read(...where)
    } catch (error) {
      await call()
      throw error
    }
  }
}

test('a mover that was suspended while another completed the move removes no copy', async () => {
  const { target, mover, complete, check } = await suspendedMove()
  whenMissing(target, complete)
  await assert.rejects(runUntilIdle(mover), /was completed or reversed/)
  await check()
})

test('a mover that was suspended just before it writes a copy leaves the one that another made', async () => {
  const { target, mover, complete, check } = await suspendedMove()
  const [removeCopy, writeCopy] = [target.remove.bind(target), target.write.bind(target)]
  let isAtSolos = false
  whenMissing(target, () => {
    isAtSolos = true
  })
  const resume = async (): Promise<void> => {
    if (isAtSolos) await complete()
  }
  target.remove = (...where) => resume().then(() => removeCopy(...where))
  target.write = (...what) => resume().then(() => writeCopy(...what))
  await runUntilIdle(mover).catch(() => undefined)
  await check()
})

test('a mover that was suspended while the move was reversed removes no copy', async () => {
  const ground = await freshGround()
  const before = await start(ground, { to: OLD })
  const kept = await fill(before)
  await before.context.blobs.close()
  const suspended = await start(ground, { to: NEW, from: OLD })
  const pin = suspended.context.readers.enter()
  const stale = moverOf(suspended)
  await runUntilIdle(stale)
  assert.equal(stale.isWaiting, true)
  const back = await start(ground, { to: OLD, from: NEW })
  const pinBack = back.context.readers.enter()
  const mover = moverOf(back)
  await runUntilIdle(mover)
  suspended.context.readers.leave(pin)
  await runUntilIdle(stale)
  back.context.readers.leave(pinBack)
  await runUntilIdle(mover)
  assert.equal(await stateOf(ground.meta), 'moved')
  await assertKept(await start(ground, { to: OLD }), kept)
})

test('a damaged blob prevents completion of the move until its object is deleted', async () => {
  const ground = await freshGround()
  const before = await start(ground, { to: OLD })
  await makeBucket(before, 'bucket')
  for (const key of ['sound', 'damaged']) await put(before, 'bucket', key, payload(SOLO, key.length))
  await before.context.blobs.close()
  const store = await start(ground, { to: NEW, from: OLD })
  const handle = await store.objects.open({ bucket: 'bucket', key: 'damaged' })
  const { content } = handle.version
  const id = content.kind === 'slices' ? content.slices[0]!.id.toString('hex') : ''
  handle.close()
  const path = join(OLD, 'solo', id.slice(-2), id)
  const file = await ground.disk.open(path, 'read')
  const bytes = Buffer.alloc(await file.size())
  await file.read([bytes], 0)
  bytes[100_000]! ^= 1
  await ground.disk.remove(path)
  await (await ground.disk.open(path, 'create')).write([bytes], 0)
  const mover = moverOf(store)
  await runUntilIdle(mover)
  assert.deepEqual([mover.damaged, await stateOf(ground.meta)], [1, 'moving'])
  await remove(store, 'bucket', 'damaged')
  await runUntilIdle(new Reclaimer(store.context))
  await runUntilIdle(mover)
  assert.deepEqual([mover.damaged, await stateOf(ground.meta)], [0, 'moved'])
  assert((await bytesOf(store, { bucket: 'bucket', key: 'sound' })).equals(payload(SOLO, 5)))
})

test('a store whose blobs move or have moved does not start on one place alone', async () => {
  const { meta } = await freshGround()
  const enter = (to: string, from?: string, isAlone = true): Promise<void> =>
    enterBlobsMove(meta, { folder: FOLDER, blobsPlace: to, blobsFrom: from }, isAlone)
  await enter(OLD)
  await assert.rejects(enter(NEW, OLD, false), /stop the others first/)
  await enter(NEW, OLD)
  await assert.rejects(enter(OLD), /--blobs \/new\/blobs --blobs-from \/old\/blobs/)
  await assert.rejects(enter(NEW), /are being moved/)
  await assert.rejects(enter('/third', OLD), /are being moved/)
  await enter(NEW, OLD, false)
  await enter(OLD, NEW)
  await enter(NEW, OLD)
  const ground = { ...(await freshGround()), meta }
  await runUntilIdle(moverOf(await start(ground, { to: NEW, from: OLD })))
  await enter(NEW)
  await enter(NEW, OLD)
  await assert.rejects(enter(OLD), /were moved from \/old\/blobs to \/new\/blobs/)
})

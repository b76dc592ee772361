/** All blobs move from one place to another while the store is used, and after every crash on the way. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Compactor } from '../../src/maintenance/compact.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { BlobMover } from '../../src/maintenance/move-blobs.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { enterBlobsMove } from '../../src/server/blobs-move.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { readBlobsMove } from '../../src/store/content/blobs-move.ts'
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
import { assertKept, fill, freshGround, moverOf, NEW, namesIn, OLD, PACKED, SOLO, start, stateOf } from './moving.ts'

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
    enterBlobsMove(meta, { folder: FOLDER, blobsPlace: to, blobsFrom: from }, () => isAlone)
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

test('a move does not begin beside a server that joins at the same time, and an earlier one stays', async () => {
  const { meta } = await freshGround()
  const alone = (answers: boolean[]) => (): boolean => answers.shift()!
  const enter = (to: string, from: string, answers: boolean[]): Promise<void> =>
    enterBlobsMove(meta, { folder: FOLDER, blobsPlace: to, blobsFrom: from }, alone(answers))
  await assert.rejects(enter(NEW, OLD, [true, false]), /stop the others first/)
  assert.equal(await stateOf(meta), undefined)
  await enter(NEW, OLD, [true, true])
  await assert.rejects(enter(OLD, NEW, [true, false]), /stop the others first/)
  assert.match((await readBlobsMove(meta))!.move.to.name, /new/)
})

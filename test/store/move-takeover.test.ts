/** A process that moves blobs is suspended, and another goes on with the move or reverses it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Blobs, MovingPlaces } from '../../src/blobs/blobs.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import type { BlobMover } from '../../src/maintenance/move-blobs.ts'
import { payload, put } from './fixture.ts'
import { assertKept, fill, freshGround, LARGE, moverOf, NEW, OLD, start, stateOf } from './moving.ts'

interface SuspendedMove extends MovingPlaces {
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
  const large = payload(LARGE, 8)
  kept.set('large', { versionId: (await put(before, 'bucket', 'large', large)).id, bytes: large })
  await before.context.blobs.close()
  const suspended = await start(ground, { to: NEW, from: OLD })
  let completing: Promise<void> | undefined
  const run = async (): Promise<void> => runUntilIdle(moverOf(await start(ground, { to: NEW, from: OLD })))
  return {
    ...suspended.context.blobs.moving!,
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

test('a mover whose source fails after another completed the move leaves the copy that the other made', async () => {
  const { source, mover, complete, check } = await suspendedMove()
  const read = source.read.bind(source)
  let isWritten = false
  source.read = async function* (...where) {
    yield* read(...where)
    if (where[1].length < LARGE) return
    isWritten = true
    await complete()
    throw new Error('the place cannot be reached')
  }
  await assert.rejects(runUntilIdle(mover), /cannot be reached/)
  assert(isWritten)
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

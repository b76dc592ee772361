/**
 * P20. Setting a lock races with an operation that would violate it; every call of the metadata engine takes a random
 * number of turns, so that each round has another schedule. HOLDFAST_ROUNDS sets the number of rounds.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import type { Random } from '../../src/lib/random.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { Lifecycle } from '../../src/maintenance/lifecycle.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import type { Store } from '../../src/store/store.ts'
import { shortOrLong } from '../long.ts'
import {
  ANY_DEAD,
  below,
  bytesOf,
  chance,
  makeBucket,
  OWNER,
  openOn,
  payload,
  put,
  remove,
  turn,
  unhurried,
  verdict,
} from './fixture.ts'
import { RULES } from './lock-audit.ts'

const ROUNDS = shortOrLong(30, 300, 'HOLDFAST_ROUNDS')
const DAY_MS = 86_400_000
const BYTES = payload(5000)
const at = { bucket: 'bucket', key: 'key' }

interface Round {
  readonly store: Store
  readonly random: Random
  readonly clock: ManualClock
  /** The version that both sides act on. */
  readonly id: string
}

async function begin(seed: number): Promise<Round> {
  const random = chance(seed)
  const clock = new ManualClock()
  const meta = unhurried(await openMemoryMeta(), random)
  const store = await openOn({ disk: new MemoryDisk(), meta, clock, random: chance(seed + 500) })
  await makeBucket(store, 'bucket', 'locked')
  const { id } = await put(store, 'bucket', 'key', BYTES)
  return { store, random, clock, id }
}

/** Runs a race and checks that every outcome occurred: an outcome that never occurs proves nothing. */
function race(name: string, ends: readonly string[], play: (round: Round) => Promise<string>): void {
  test(`P20: ${name}`, async t => {
    const seen = new Map<string, number>()
    for (let seed = 1; seed <= ROUNDS; seed++) {
      try {
        const end = await play(await begin(seed))
        seen.set(end, (seen.get(end) ?? 0) + 1)
      } catch (error) {
        throw new Error(`in the round with seed ${seed}: ${(error as Error).stack}`)
      }
    }
    t.diagnostic(`${ROUNDS} rounds: ${[...seen].map(([end, times]) => `${end} ${times}`).join(', ')}`)
    assert.deepEqual([...seen.keys()].sort(), [...ends].sort())
  })
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await turn()
}

const readsAsBefore = async ({ store, id }: Round): Promise<void> =>
  assert.ok((await bytesOf(store, { ...at, versionId: id })).equals(BYTES))

/** Sets a lock and deletes concurrently; either may be first. */
async function lockOrDelete(round: Round, lock: () => Promise<unknown>, bypass = false): Promise<string> {
  const { store, random, id } = round
  let locked = false
  const locking = turns(below(random, 12))
    .then(lock)
    .then(() => {
      locked = true
    })
  await turns(below(random, 12))
  const wasLocked = locked
  const request = { ...at, versionId: id, owner: OWNER, rights: { bypass } }
  const [lockVerdict, removeVerdict] = await Promise.all([verdict(locking), verdict(store.objects.remove(request))])
  if (wasLocked) assert.equal(removeVerdict, 'AccessDenied', 'the lock was acknowledged before the delete began')
  if (removeVerdict === 'ok') {
    assert.equal(lockVerdict, 'NoSuchVersion')
    assert.equal(await verdict(store.objects.head({ ...at, versionId: id })), 'NoSuchVersion')
    return 'removed'
  }
  assert.deepEqual([lockVerdict, removeVerdict], ['ok', 'AccessDenied'])
  await readsAsBefore(round)
  assert.equal((await store.ledger.verify('bucket')).problem, undefined)
  return 'locked'
}

race('a hold and a delete of the same version: one order or the other', ['locked', 'removed'], round =>
  lockOrDelete(round, () => round.store.objects.setHold({ ...at, versionId: round.id }, true), true),
)

race('a retention and a delete of the same version: one order or the other', ['locked', 'removed'], round => {
  const retention = { mode: 'compliance', until: round.clock.now() + DAY_MS } as const
  return lockOrDelete(round, () => round.store.objects.setRetention({ ...at, versionId: round.id }, retention), true)
})

race('a hold that was acknowledged before the delete began stands', ['refused'], async ({ store, id }) => {
  // Concurrent writes to the key make the delete retry.
  const busy = Promise.all([put(store, 'bucket', 'key', 'more'), put(store, 'bucket', 'key', 'most')])
  await store.objects.setHold({ ...at, versionId: id }, true)
  assert.equal(await verdict(remove(store, 'bucket', 'key', id)), 'AccessDenied')
  await busy
  assert.equal((await store.objects.head({ ...at, versionId: id })).lock.hold, true)
  return 'refused'
})

race('P11: a hold and the lifecycle rule that would take the version', ['expired', 'locked'], async round => {
  const { store, random, clock, id } = round
  await put(store, 'bucket', 'key', 'over it')
  await store.documents.put('bucket', 'lifecycle', RULES)
  clock.move(3 * DAY_MS)
  const holding = turns(below(random, 40)).then(() => store.objects.setHold({ ...at, versionId: id }, true))
  const [held] = await Promise.all([verdict(holding), runUntilIdle(new Lifecycle(store.context))])
  if (held === 'ok') await readsAsBefore(round)
  else assert.equal(held, 'NoSuchVersion')
  return held === 'ok' ? 'locked' : 'expired'
})

race('P22: a hold while compaction moves the bytes of its version', ['moved'], async round => {
  const { store, random, id } = round
  await put(store, 'bucket', 'dead', payload(9000))
  const [gone] = (await store.listing.versions({ bucket: 'bucket', limit: 10, prefix: 'dead' })).items
  await remove(store, 'bucket', 'dead', gone!.version.id)
  await store.context.blobs.closeVolume()
  const maintenance = async (): Promise<void> => {
    for (const worker of [new Reclaimer(store.context), new Compactor(store.context, ANY_DEAD)]) {
      await runUntilIdle(worker)
    }
  }
  const holding = turns(below(random, 40)).then(() => store.objects.setHold({ ...at, versionId: id }, true))
  await Promise.all([holding, maintenance()])
  await maintenance()
  assert.equal((await store.objects.head({ ...at, versionId: id })).lock.hold, true)
  await readsAsBefore(round)
  return 'moved'
})

race('P26: a default retention and a put at the same time', ['before', 'after'], async ({ store, random, clock }) => {
  let isSet = false
  const setting = turns(below(random, 12))
    .then(() => store.buckets.setLock('bucket', { mode: 'compliance', days: 1 }))
    .then(() => {
      isSet = true
    })
  await turns(below(random, 12))
  const wasSet = isSet
  const [, { lock }] = await Promise.all([setting, put(store, 'bucket', 'new', 'bytes')])
  if (wasSet) assert.notEqual(lock.retention, undefined, 'the default was acknowledged before the put began')
  if (lock.retention === undefined) return 'before'
  assert.deepEqual(lock.retention, { mode: 'compliance', until: clock.now() + DAY_MS })
  return 'after'
})

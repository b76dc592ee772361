/**
 * Races. Every call of the metadata engine takes a random number of turns, so that each round has another schedule;
 * every message contains the seed. The results must match some order, and nothing may leak.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import type { Random } from '../../src/lib/random.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { openLmdbMeta } from '../../src/meta/lmdb/lmdb.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import type { Meta } from '../../src/meta/meta.ts'
import type { Store } from '../../src/store/store.ts'
import { shortOrLong } from '../long.ts'
import {
  ANY_DEAD,
  assertWhole,
  bytesOf,
  chance,
  makeBucket,
  OWNER,
  openOn,
  payload,
  put,
  remove,
  settle,
  turn,
  unhurried,
  verdict,
  withFolder,
} from './fixture.ts'

const MEMORY_ROUNDS = shortOrLong(12, 150)
const LMDB_ROUNDS = shortOrLong(3, 12)

type Round = (store: Store, random: Random) => Promise<void>

async function playRound(seed: number, engine: Meta, round: Round): Promise<void> {
  const random = chance(seed)
  const meta = unhurried(engine, random)
  const store = await openOn({ disk: new MemoryDisk(), meta, clock: new ManualClock(), random: chance(seed + 500) })
  try {
    await round(store, random)
    await settle(store)
    await assertWhole(store)
  } catch (error) {
    throw new Error(`in the round with seed ${seed}: ${(error as Error).stack}`)
  }
}

function race(name: string, round: Round): void {
  test(`memory: ${name}`, async () => {
    for (let seed = 1; seed <= MEMORY_ROUNDS; seed++) await playRound(seed, await openMemoryMeta(), round)
  })
  test(`lmdb: ${name}`, async () => {
    for (let seed = 1; seed <= LMDB_ROUNDS; seed++) {
      await withFolder(async folder => {
        const meta = await openLmdbMeta({ path: folder, durability: 'os' })
        await playRound(seed, meta, round).finally(() => meta.close())
      })
    }
  })
}

const at = { bucket: 'bucket', key: 'key' }

/** Runs maintenance concurrently until the race is over. */
async function beside(store: Store, racing: Promise<unknown>): Promise<void> {
  const workers = [new Reclaimer(store.context), new Compactor(store.context, ANY_DEAD)]
  let over = false
  const done = racing.finally(() => {
    over = true
  })
  // The rejection is handled below; until then it must not count as unhandled.
  done.catch(() => undefined)
  while (!over) {
    await store.context.blobs.closeVolume()
    for (const worker of workers) await worker.step()
    await turn()
  }
  await done
}

race('P10: a put and the removal of its bucket: no object outside a bucket', async store => {
  await makeBucket(store, 'bucket')
  const [wrote, removed] = await Promise.all([
    verdict(put(store, 'bucket', 'key', payload(6000))),
    verdict(store.buckets.remove('bucket')),
  ])
  if (wrote === 'ok') assert.equal(removed, 'BucketNotEmpty')
  else assert.deepEqual([wrote, removed], ['NoSuchBucket', 'ok'])
  if (wrote === 'ok') assert.ok((await bytesOf(store, at)).equals(payload(6000)))
})

race('R36: an upload, its parts and the removal of its bucket', async store => {
  await makeBucket(store, 'bucket')
  const begun = await store.uploads.create({ ...at, initiator: OWNER, owner: OWNER })
  const upload = { ...at, uploadId: begun.id.toString('hex') }
  const outcomes = await Promise.all([
    verdict(store.uploads.putPart({ ...upload, number: 1, body: [payload(70_000)] })),
    verdict(store.uploads.create({ ...at, initiator: OWNER, owner: OWNER })),
    verdict(store.buckets.remove('bucket')),
  ])
  assert.ok(['ok', 'NoSuchUpload'].includes(outcomes[0]), outcomes[0])
  if (outcomes[2] === 'ok') assert.equal(await verdict(store.uploads.find(upload)), 'NoSuchUpload')
})

race('R97: two completions of one upload make one version', async store => {
  await makeBucket(store, 'bucket', 'on')
  const begun = await store.uploads.create({ ...at, initiator: OWNER, owner: OWNER })
  const upload = { ...at, uploadId: begun.id.toString('hex') }
  const { etag } = await store.uploads.putPart({ ...upload, number: 1, body: [payload(70_000)] })
  const complete = () => verdict(store.completion.complete({ ...upload, parts: [{ number: 1, etag }] }))
  const outcomes = await Promise.all([complete(), complete(), complete()])
  assert.deepEqual(outcomes.sort(), ['NoSuchUpload', 'NoSuchUpload', 'ok'])
  assert.equal((await store.listing.versions({ bucket: 'bucket', limit: 10 })).items.length, 1)
  assert.ok((await bytesOf(store, at)).equals(payload(70_000)))
})

race('R34, R36: a part, a completion and an abort: nothing leaks, and what is complete is whole', async store => {
  await makeBucket(store, 'bucket')
  const begun = await store.uploads.create({ ...at, initiator: OWNER, owner: OWNER })
  const upload = { ...at, uploadId: begun.id.toString('hex') }
  const first = await store.uploads.putPart({ ...upload, number: 1, body: [payload(70_000, 1)] })
  const racing = Promise.all([
    verdict(store.uploads.putPart({ ...upload, number: 1, body: [payload(70_000, 2)] })),
    verdict(store.uploads.putPart({ ...upload, number: 2, body: [payload(9000, 3)] })),
    verdict(store.completion.complete({ ...upload, parts: [{ number: 1, etag: first.etag }] })),
    verdict(store.uploads.abort(upload)),
  ])
  await beside(store, racing)
  const [, , completed, aborted] = await racing
  assert.ok(completed === 'ok' || aborted === 'ok', `${completed} and ${aborted}`)
  assert.ok(!(completed === 'ok' && aborted === 'ok'), 'both completed and aborted')
  assert.equal(await verdict(store.uploads.find(upload)), 'NoSuchUpload')
  if (completed === 'ok') assert.ok((await bytesOf(store, at)).equals(payload(70_000, 1)))
  else assert.equal(await verdict(store.objects.head(at)), 'NoSuchKey')
})

race('R53, P22: acknowledged copies of a source that is deleted concurrently stay readable', async store => {
  await makeBucket(store, 'bucket')
  const bytes = payload(70_000)
  await put(store, 'bucket', 'key', bytes)
  const copies = Array.from({ length: 12 }, (_, i) =>
    verdict(store.copies.copy({ from: at, to: { bucket: 'bucket', key: `copy-${i}` }, owner: OWNER })),
  )
  const racing = Promise.all([Promise.all(copies), remove(store, 'bucket', 'key')])
  await beside(store, racing)
  for (const [i, outcome] of (await racing)[0].entries()) {
    const key = `copy-${i}`
    if (outcome === 'ok') assert.ok((await bytesOf(store, { bucket: 'bucket', key })).equals(bytes), key)
    else assert.equal(outcome, 'NoSuchKey')
  }
})

test('R53: fifty copies of one source at once, and its deletion', async () => {
  await playRound(1, await openMemoryMeta(), async store => {
    await makeBucket(store, 'bucket')
    const bytes = payload(10_000)
    await put(store, 'bucket', 'key', bytes)
    const copies = Array.from({ length: 50 }, (_, i) =>
      store.copies.copy({ from: at, to: { bucket: 'bucket', key: `copy-${i}` }, owner: OWNER }),
    )
    await Promise.all(copies)
    await remove(store, 'bucket', 'key')
    for (let i = 0; i < 50; i++) {
      assert.ok((await bytesOf(store, { bucket: 'bucket', key: `copy-${i}` })).equals(bytes))
    }
  })
})

race('overwrites of one key: one of them is there, whole', async store => {
  await makeBucket(store, 'bucket')
  const all = [10, 5000, 70_000, 5001, 11].map(size => payload(size))
  await beside(store, Promise.all(all.map(bytes => put(store, 'bucket', 'key', bytes))))
  const got = await bytesOf(store, at)
  assert.ok(all.some(bytes => bytes.equals(got)))
})

race('R18: concurrent puts with versioning on are all there, each under its own name', async store => {
  await makeBucket(store, 'bucket', 'on')
  const all = [10, 5000, 70_000, 12].map(size => payload(size))
  const made = await Promise.all(all.map(bytes => put(store, 'bucket', 'key', bytes)))
  assert.equal(new Set(made.map(({ id }) => id)).size, all.length)
  for (const [i, { id }] of made.entries()) {
    assert.ok((await bytesOf(store, { ...at, versionId: id })).equals(all[i]!))
  }
})

race('R94: of conditional creations at once exactly one succeeds', async store => {
  await makeBucket(store, 'bucket')
  const precondition = { ifMatch: undefined, ifNoneMatch: ['*'] }
  const attempts = [1, 2, 3, 4].map(n =>
    verdict(store.objects.put({ ...at, owner: OWNER, body: [payload(5000, n)], precondition })),
  )
  const outcomes = await Promise.all(attempts)
  assert.deepEqual(outcomes.sort(), ['PreconditionFailed', 'PreconditionFailed', 'PreconditionFailed', 'ok'])
})

race('a version is found by its name while the newer ones go', async store => {
  await makeBucket(store, 'bucket', 'on')
  const { id } = await put(store, 'bucket', 'key', payload(5000))
  const newer = [await put(store, 'bucket', 'key', 'newer'), await put(store, 'bucket', 'key', 'newest')]
  const { marker } = await remove(store, 'bucket', 'key')
  const removing = (async () => {
    for (const versionId of [marker!.id, newer[1]!.id, newer[0]!.id]) await remove(store, 'bucket', 'key', versionId)
  })()
  let reads = 0
  for (let over = false; !over; reads++) {
    over = await Promise.race([removing.then(() => true), turn().then(() => false)])
    assert.ok((await bytesOf(store, { ...at, versionId: id })).equals(payload(5000)))
  }
  assert.ok(reads > 1)
})

race('every version that was deleted by name is gone, also when all are deleted at once', async store => {
  await makeBucket(store, 'bucket', 'on')
  const made = []
  for (let n = 0; n < 4; n++) made.push(await put(store, 'bucket', 'key', payload(5000, n)))
  const removed = await Promise.all(made.map(({ id }) => remove(store, 'bucket', 'key', id)))
  for (const [i, { removed: gone }] of removed.entries()) assert.equal(gone?.id, made[i]!.id)
  assert.deepEqual((await store.listing.versions({ bucket: 'bucket', limit: 10 })).items, [])
  await store.buckets.remove('bucket')
})

race(
  'promise (c): a listing of versions shows every stable version exactly once, however versions move',
  async store => {
    await makeBucket(store, at.bucket, 'on')
    const stable = new Set<string>()
    for (const key of ['a', 'key', 'z']) stable.add((await put(store, at.bucket, key, 'stays')).id)
    let churning = true
    const churn = async (): Promise<void> => {
      for (let i = 0; i < 12; i++) {
        const { marker } = await remove(store, at.bucket, at.key)
        await remove(store, at.bucket, at.key, marker!.id)
        const { id } = await put(store, at.bucket, at.key, 'comes and goes')
        await remove(store, at.bucket, at.key, id)
      }
      churning = false
    }
    const watch = async (): Promise<void> => {
      while (churning) {
        const { items } = await store.listing.versions({ bucket: at.bucket, limit: 1000 })
        const seen = items.map(({ version }) => version.id)
        assert.equal(new Set(seen).size, seen.length, 'a version was listed twice')
        for (const id of stable) assert(seen.includes(id), 'a version was not listed')
      }
    }
    await Promise.all([churn(), watch()])
  },
)

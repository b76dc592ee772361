/** Small objects, 64 at a time: put, get and delete against the bare engines below the store. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type LmdbEngine, openEngine } from '../src/meta/lmdb/lmdb-engine.ts'
import { recordKey } from '../src/store/commit/record-keys.ts'
import type { Store } from '../src/store/store.ts'
import {
  aloneRow,
  inFlight,
  medians,
  milliseconds,
  perSecond,
  type Row,
  rowOf,
  shuffled,
  type Turn,
} from './measure.ts'
import { GroupAppender } from './reference.ts'
import { BUCKET, drain, OWNER, randomName, type Scene } from './scene.ts'

const WIDTH = 64
const PAYLOADS = 16

const payloads = (bytes: number): Buffer[] => Array.from({ length: PAYLOADS }, () => randomBytes(bytes))
const names = (count: number): string[] => Array.from({ length: count }, randomName)
const addresses = (count: number): Buffer[] => names(count).map(name => recordKey.current(BUCKET, name))

/** The cost of one sync on this disk: a slow sync hides the store's overhead, a fast one shows it. */
export async function sync(scene: Scene): Promise<Row[]> {
  const file = await GroupAppender.create(join(scene.newFolder('sync'), 'appended'))
  const [body] = payloads(4096)
  const [time] = await medians(scene.quick ? 50 : 500, [() => milliseconds(() => file.append(body!))])
  await file.close()
  await scene.clear()
  return [aloneRow('sync-4k', 'ms', time!)]
}

/** Puts, gets and deletes of 4 KiB against the same on a bare LMDB that is opened with the same options. */
export async function fourKiB(scene: Scene): Promise<Row[]> {
  const count = scene.quick ? 2_000 : 12_000
  const rounds = scene.quick ? 2 : 5
  const bodies = payloads(4096)
  const store = await scene.newStore('put-4k')
  const bare = await openEngine(scene.newFolder('put-4k-bare'), 'fsync')
  const [put, barePut] = await medians(rounds, [
    () => putAll(store, names(count), bodies),
    () => barePutAll(bare, addresses(count), bodies),
  ])
  const stored = names(count)
  const bareStored = stored.map(name => recordKey.current(BUCKET, name))
  await putAll(store, stored, bodies)
  await barePutAll(bare, bareStored, bodies)
  const [get, bareGet] = await medians(rounds, [() => getAll(store, stored), () => bareGetAll(bare, bareStored)])
  const [gone, bareGone] = await medians(rounds, [removal(store, count, bodies), bareRemoval(bare, count, bodies)])
  await bare.close()
  await scene.clear()
  return [
    rowOf('put-4k', 'op/s', put!, barePut!),
    rowOf('get-4k', 'op/s', get!, bareGet!),
    rowOf('delete-4k', 'op/s', gone!, bareGone!),
  ]
}

function putAll(store: Store, keys: readonly string[], bodies: readonly Buffer[]): Promise<number> {
  return perSecond(keys.length, () =>
    inFlight(WIDTH, keys.length, i =>
      store.objects.put({ bucket: BUCKET, key: keys[i]!, owner: OWNER, body: [bodies[i % PAYLOADS]!] }),
    ),
  )
}

function barePutAll(bare: LmdbEngine, keys: readonly Buffer[], bodies: readonly Buffer[]): Promise<number> {
  return perSecond(keys.length, () =>
    inFlight(WIDTH, keys.length, async i => bare.put(keys[i]!, bodies[i % PAYLOADS]!, i + 1)),
  )
}

function getAll(store: Store, keys: readonly string[]): Promise<number> {
  return perSecond(keys.length, async () => {
    for (const key of shuffled(keys)) {
      const handle = await store.objects.open({ bucket: BUCKET, key })
      if ((await drain(handle.read())) !== 4096) throw new Error(`${key} was not read whole`)
    }
  })
}

/** Copies each value, as a caller must that keeps it beyond the next read. */
function bareGetAll(bare: LmdbEngine, keys: readonly Buffer[]): Promise<number> {
  return perSecond(keys.length, async () => {
    for (const key of shuffled(keys)) {
      const found = bare.getBinaryFast(key)!
      if (Buffer.from(found.subarray(0, found.length)).length !== 4096) throw new Error('a value was not read whole')
    }
  })
}

const removal = (store: Store, count: number, bodies: readonly Buffer[]): Turn => {
  return async () => {
    const keys = names(count)
    await putAll(store, keys, bodies)
    const remove = (i: number): Promise<unknown> =>
      store.objects.remove({ bucket: BUCKET, key: keys[i]!, owner: OWNER })
    return perSecond(count, () => inFlight(WIDTH, count, remove))
  }
}

const bareRemoval = (bare: LmdbEngine, count: number, bodies: readonly Buffer[]): Turn => {
  return async () => {
    const keys = addresses(count)
    await barePutAll(bare, keys, bodies)
    return perSecond(count, () => inFlight(WIDTH, count, async i => bare.remove(keys[i]!)))
  }
}

/** Puts of 64 KiB against appending the same bytes to a file, with one sync for all that wait. */
export async function sixtyFourKiB(scene: Scene): Promise<Row[]> {
  const count = scene.quick ? 500 : 3_000
  const rounds = scene.quick ? 2 : 5
  const bodies = payloads(64 * 1024)
  const store = await scene.newStore('put-64k')
  const bare = await GroupAppender.create(join(scene.newFolder('put-64k-bare'), 'appended'))
  const [put, append] = await medians(rounds, [
    () => putAll(store, names(count), bodies),
    () => perSecond(count, () => inFlight(WIDTH, count, i => bare.append(bodies[i % PAYLOADS]!))),
  ])
  await bare.close()
  await scene.clear()
  return [rowOf('put-64k', 'op/s', put!, append!)]
}

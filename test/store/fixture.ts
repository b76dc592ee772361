/** Helpers that create a store, fill it, inspect it and make its disk and engine fail. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBlobs } from '../../src/blobs/file-blobs.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { keyringInFolder } from '../../src/crypto/keyring-file.ts'
import { type Clock, ManualClock } from '../../src/lib/clock.ts'
import type { Disk } from '../../src/lib/disk.ts'
import { Ids } from '../../src/lib/ids.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import { type Random, seededRandom } from '../../src/lib/random.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { recordsOf } from '../../src/maintenance/records.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import type { Meta } from '../../src/meta/meta.ts'
import { blobFormat } from '../../src/model/content.ts'
import { Fault } from '../../src/model/faults.ts'
import type { Version } from '../../src/model/version.ts'
import { openFolder, type ServerParts } from '../../src/server/compose.ts'
import type { VersionSelector } from '../../src/store/objects/versions.ts'
import { Store } from '../../src/store/store.ts'

export const OWNER = 'owner'
export const FOLDER = '/data'
export const PART_BYTES_MIN = 5 * 2 ** 20
/** Low limits, so that a test covers every kind of storage without moving many bytes. */
export const PACKED_BYTES_MAX = 64 * 1024
export const VOLUME_BYTES_MAX = 256 * 1024
/** Any dead byte is worth a compaction. */
export const ANY_DEAD = 1e-9

/** Neighbouring seeds would start alike, so they are spread first. */
export function chance(seed: number): Random {
  const random = seededRandom(Math.imul(seed + 1, 0x9e3779b1))
  random.bytes(64)
  return random
}

export const below = (random: Random, limit: number): number => Math.floor(random.fraction() * limit)
export const oneOf = <T>(random: Random, list: readonly T[]): T => list[below(random, list.length)]!

/** Bytes without a period that could hide a misplaced read; long ones repeat a numbered block. */
export function payload(size: number, seed = 1): Buffer {
  const block = chance(seed * 7919 + size).bytes(Math.min(size, 4099))
  if (block.length === size) return block
  const out = Buffer.allocUnsafe(size)
  for (let at = 0, turn = 0; at < size; at += block.length, turn++) {
    block.writeUInt32BE(turn, 0)
    block.copy(out, at)
  }
  return out
}

export interface Ground {
  readonly disk: Disk
  readonly meta: Meta
  readonly clock: Clock
  readonly random: Random
}

/** A store with low limits over the given ground: a start of the server, or a restart. */
export async function openOn({ disk, meta, clock, random }: Ground): Promise<Store> {
  await disk.makeFolder(FOLDER)
  const keyring = await Keyring.open({ storage: keyringInFolder(disk, FOLDER), random })
  const ids = new Ids(random)
  const blobs = await openBlobs({
    disk,
    folder: join(FOLDER, 'blobs'),
    writer: ids.writer,
    packedBytesMax: PACKED_BYTES_MAX,
    volumeBytesMax: VOLUME_BYTES_MAX,
    reserveBytes: 0,
  })
  return Store.open({ meta, blobs, keyring, clock, random, ids })
}

export interface Fresh extends Ground {
  readonly store: Store
  readonly disk: MemoryDisk
  readonly clock: ManualClock
}

/** A new store in memory; `over` wraps the metadata engine. */
export async function freshStore(seed = 1, over: (meta: Meta) => Meta = meta => meta): Promise<Fresh> {
  const ground = {
    disk: new MemoryDisk({ crashable: true }),
    meta: over(await openMemoryMeta()),
    clock: new ManualClock(),
    random: chance(seed),
  }
  return { ...ground, store: await openOn(ground) }
}

export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-store-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A store over LMDB in a folder of its own, closed and removed afterwards. */
export async function withFolderStore(
  use: (parts: ServerParts, clock: ManualClock, folder: string) => Promise<void>,
): Promise<void> {
  await withFolder(async folder => {
    const clock = new ManualClock()
    const parts = await openFolder({ folder, durability: 'os', clock })
    try {
      await use(parts, clock, folder)
    } finally {
      await parts.close()
    }
  })
}

/** The same test over memory and over LMDB. */
export const ENGINES: readonly {
  name: string
  run: (use: (store: Store, clock: ManualClock) => Promise<void>) => Promise<void>
}[] = [
  {
    name: 'memory',
    run: async use => {
      const { store, clock } = await freshStore()
      await use(store, clock)
    },
  },
  { name: 'lmdb', run: use => withFolderStore(({ store }, clock) => use(store, clock)) },
]

export async function collect(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** The bytes of an object, all or a range of them. */
export async function bytesOf(
  store: Store,
  which: VersionSelector,
  how: { customerKey?: Buffer; start?: number; end?: number } = {},
): Promise<Buffer> {
  const handle = await store.objects.open(which, how.customerKey)
  return collect(handle.read(how.start ?? 0, how.end ?? handle.version.size))
}

export function put(store: Store, bucket: string, key: string, bytes: Buffer | string): Promise<Version> {
  return store.objects.put({ bucket, key, owner: OWNER, body: [Buffer.from(bytes)] })
}

export function remove(store: Store, bucket: string, key: string, versionId?: string) {
  return store.objects.remove({ bucket, key, versionId, owner: OWNER })
}

export async function makeBucket(
  store: Store,
  name: string,
  versioning: 'off' | 'on' | 'suspended' | 'locked' = 'off',
): Promise<void> {
  await store.buckets.create({ name, owner: OWNER, lockEnabled: versioning === 'locked' })
  if (versioning === 'on' || versioning === 'suspended') await store.buckets.setVersioning(name, 'on')
  if (versioning === 'suspended') await store.buckets.setVersioning(name, 'suspended')
}

/** The code of the fault that the promise rejects with; any other outcome fails the test. */
export async function faultOf(promise: Promise<unknown>): Promise<string> {
  const outcome = await promise.then(
    value => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('value' in outcome) assert.fail('succeeded, where a fault was expected')
  if (!(outcome.error instanceof Fault)) throw outcome.error
  return outcome.error.code
}

/** 'ok', or the code of the fault. */
export function verdict(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'ok',
    (error: unknown) => {
      if (error instanceof Fault) return error.code
      throw error
    },
  )
}

/** Runs all maintenance until nothing is left to do. */
export async function settle({ context }: Store): Promise<void> {
  const workers = [new Reclaimer(context), new Compactor(context, ANY_DEAD), new Sweeper(context)]
  await context.blobs.closeVolume()
  for (let round = 0; round < 20; round++) {
    for (const worker of workers) await runUntilIdle(worker)
    if ((await fsck(context)).garbage === 0) return
  }
  assert.fail('garbage is left although nothing is going on')
}

/** Every count is right, and the disk holds exactly what records name. Call it after `settle`. */
export async function assertWhole({ context }: Store): Promise<void> {
  const report = await fsck(context)
  assert.deepEqual(report.problems, [])
  const named = { solos: new Set<string>(), volumes: new Set<string>() }
  for await (const entry of recordsOf(context, 'b')) {
    const { volume } = blobFormat.decode(entry.value)
    if (volume === undefined) named.solos.add(entry.key.toString('hex', 1))
    else named.volumes.add(volume)
  }
  const solos: string[] = []
  for await (const id of context.blobs.solos()) solos.push(id.toString('hex'))
  assert.deepEqual(solos.sort(), [...named.solos].sort(), 'files of their own')
  const volumes = (await context.blobs.volumes()).map(volume => volume.name)
  assert.deepEqual(volumes.sort(), [...named.volumes].sort(), 'volumes')
  assert.equal(context.drafts.count, 0, 'drafts are left')
  assert.equal(context.readers.count, 0, 'readers are left')
}

/** Lets other work run: no time passes, only turns. */
export const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** A promise that a test resolves. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** A metadata engine that responds after a random number of turns, so that every schedule can occur. */
export function unhurried(meta: Meta, random: Random, turnsMax = 3): Meta {
  const dawdle = async (): Promise<void> => {
    for (let left = below(random, turnsMax + 1); left > 0; left--) await turn()
  }
  const slowly = async <T>(call: () => Promise<T>): Promise<T> => {
    await dawdle()
    const answer = await call()
    await dawdle()
    return answer
  }
  return {
    get: key => slowly(async () => meta.get(key)),
    scan: (range, limit, reverse) => slowly(() => meta.scan(range, limit, reverse)),
    scanMap: (range, limit, make) => slowly(() => meta.scanMap(range, limit, make)),
    commit: tx => slowly(() => meta.commit(tx)),
    close: () => meta.close(),
  }
}

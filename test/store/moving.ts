/** A store between two places of its blobs, as a start of the server opens it. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Blobs } from '../../src/blobs/blobs.ts'
import { openBlobs } from '../../src/blobs/file-blobs.ts'
import { MovingBlobs } from '../../src/blobs/moving-blobs.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { keyringInFolder } from '../../src/crypto/keyring-file.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { Ids } from '../../src/lib/ids.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import type { Random } from '../../src/lib/random.ts'
import { BlobMover } from '../../src/maintenance/move-blobs.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import type { Meta } from '../../src/meta/meta.ts'
import { enterBlobsMove } from '../../src/server/blobs-move.ts'
import { readBlobsMove } from '../../src/store/content/blobs-move.ts'
import { Store } from '../../src/store/store.ts'
import { bytesOf, chance, FOLDER, makeBucket, payload, put } from './fixture.ts'

export const OLD = '/old/blobs'
export const NEW = '/new/blobs'
export const PACKED = 5_000
export const SOLO = 200_000
/** Written to its file before all of it has arrived. */
export const LARGE = 2_000_000

export interface Ground {
  readonly disk: MemoryDisk
  readonly meta: Meta
  readonly clock: ManualClock
  readonly random: Random
}

export type Place = { readonly to: string; readonly from?: string }

/** A start of the server with its blobs in one place, or between two. */
export async function start({ disk, meta, clock, random }: Ground, { to, from }: Place): Promise<Store> {
  await enterBlobsMove(meta, { folder: FOLDER, blobsPlace: to, blobsFrom: from }, () => true)
  await disk.makeFolder(FOLDER)
  const keyring = await Keyring.open({ storage: keyringInFolder(disk, FOLDER), random })
  const ids = new Ids(random)
  const limits = { packedBytesMax: 64 * 1024, volumeBytesMax: 256 * 1024, reserveBytes: 0 }
  const open = (folder: string): Promise<Blobs> => openBlobs({ disk, folder, writer: ids.writer, ...limits })
  const blobs = from === undefined ? await open(to) : new MovingBlobs(await open(from), await open(to))
  return Store.open({ meta, blobs, keyring, clock, random, ids })
}

export async function freshGround(seed = 1): Promise<Ground> {
  const disk = new MemoryDisk({ crashable: true })
  return { disk, meta: await openMemoryMeta(), clock: new ManualClock(), random: chance(seed) }
}

/** Key and bytes of every version that must survive. */
export type Kept = Map<string, { readonly versionId: string; readonly bytes: Buffer }>

/** Packed and solo objects, versions, a held one, a copy that shares its blobs, an upload in progress. */
export async function fill(store: Store): Promise<Kept> {
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

export const keyOf = (label: string): string => (label === 'held' ? 'packed-0' : label)

export async function assertKept(store: Store, kept: Kept): Promise<void> {
  for (const [label, { versionId, bytes }] of kept) {
    const found = await bytesOf(store, { bucket: 'bucket', key: keyOf(label), versionId })
    assert(found.equals(bytes), label)
  }
}

export const moverOf = ({ context }: Store): BlobMover => new BlobMover(context, context.blobs.moving!)

export const stateOf = async (meta: Meta): Promise<string | undefined> => (await readBlobsMove(meta))?.move.state

/** A name is in the place: a volume, or a blob of its own. */
export async function namesIn(disk: MemoryDisk, place: string): Promise<string[]> {
  const names = [...(await disk.list(join(place, 'volumes')))]
  for (const folder of await disk.list(join(place, 'solo')))
    names.push(...(await disk.list(join(place, 'solo', folder))))
  return names
}

/**
 * Composition: the only place, with `main.ts`, that names a driver. Opens a data folder in the order that makes every
 * crash repeatable: records, ownership of the folder, keys, bytes; and closes it in the reverse order.
 */
import { join } from 'node:path'
import { openBlobs } from './blobs/file-blobs.ts'
import { Keyring } from './crypto/keyring.ts'
import { type Clock, systemClock } from './lib/clock.ts'
import { bytes, format } from './lib/codec.ts'
import { type Disk, realDisk } from './lib/disk.ts'
import { Ids } from './lib/ids.ts'
import { key } from './lib/keys.ts'
import { MemoryDisk } from './lib/memory-disk.ts'
import { type Random, systemRandom } from './lib/random.ts'
import { openLmdbMeta } from './meta/lmdb.ts'
import { openMemoryMeta } from './meta/memory.ts'
import type { Meta } from './meta/meta.ts'
import { openPostgresMeta } from './meta/postgres.ts'
import { FencedMeta } from './store/fenced-meta.ts'
import { takeOwnership } from './store/ownership.ts'
import { Store } from './store/store.ts'

export interface ServerParts {
  readonly store: Store
  close(): Promise<void>
}

export interface FolderOptions {
  readonly folder: string
  /** A `postgres://` address; LMDB in the folder without. */
  readonly metaUrl?: string
  /** Where bytes live, when not in the folder. */
  readonly blobsFolder?: string
  readonly durability?: 'fsync' | 'os'
  readonly clock?: Clock
  readonly random?: Random
}

/** A store in a folder, exclusively this process's. */
export async function openFolder(options: FolderOptions): Promise<ServerParts> {
  const { folder, durability = 'fsync', clock = systemClock, random = systemRandom } = options
  const disk = realDisk
  await disk.makeFolder(folder)
  const meta =
    options.metaUrl === undefined
      ? await openLmdbMeta({ path: join(folder, 'meta'), durability })
      : await openPostgresMeta({ url: options.metaUrl })
  try {
    const ownership = await takeOwnership(folder, meta, disk, random)
    try {
      const blobsFolder = options.blobsFolder ?? join(folder, 'blobs')
      // LMDB ends with its process; a database server may still be busy with a commit of an owner that died.
      const fenced = options.metaUrl === undefined ? meta : await FencedMeta.over(meta)
      const store = await openStore({ meta: fenced, disk, folder, blobsFolder, durability, clock, random })
      return {
        store,
        async close() {
          await store.engine.blobs.close()
          // The last commits first: whoever takes the folder next must find either their names or no trace of them.
          await meta.close()
          await ownership.end()
        },
      }
    } catch (error) {
      await ownership.end()
      throw error
    }
  } catch (error) {
    await meta.close()
    throw error
  }
}

/** A store in memory, gone with the process. */
export async function openMemory(
  options: { readonly clock?: Clock; readonly random?: Random } = {},
): Promise<ServerParts> {
  const { clock = systemClock, random = systemRandom } = options
  const meta = await openMemoryMeta()
  const folder = '/'
  const store = await openStore({
    meta,
    disk: new MemoryDisk(),
    folder,
    blobsFolder: '/blobs',
    durability: 'os',
    clock,
    random,
  })
  return {
    store,
    async close() {
      await store.engine.blobs.close()
      await meta.close()
    },
  }
}

export interface StoreOptions {
  readonly meta: Meta
  readonly disk: Disk
  readonly folder: string
  readonly blobsFolder: string
  readonly durability: 'fsync' | 'os'
  readonly clock: Clock
  readonly random: Random
}

/** The store over an open metadata engine and a disk. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { meta, disk, folder, clock, random } = options
  const keyring = await openKeyring(options)
  const ids = new Ids(random)
  const blobs = await openBlobs({
    disk,
    folder: options.blobsFolder,
    writer: ids.writer,
    durability: options.durability,
    ...(folder === '/' ? { reserveBytes: 0 } : {}),
  })
  return Store.open({ meta, blobs, keyring, clock, random, ids })
}

const KEYRING_KEY = key('x', 'keyring')
export const keyringIdFormat = format<Buffer>('K1', bytes)

/** A keyring that was lost must not be made anew in silence: what it sealed could never be read again. */
async function openKeyring({ meta, disk, folder, random }: StoreOptions): Promise<Keyring> {
  const entry = await meta.get(KEYRING_KEY)
  if (entry !== undefined && !(await disk.list(folder)).includes('keyring')) {
    throw new Error(`the keyring of ${folder} is missing: restore it from a backup before the server can start`)
  }
  const keyring = await Keyring.open({ disk, folder, random })
  if (entry === undefined) {
    await meta.commit({
      checks: [{ key: KEYRING_KEY, stamp: undefined }],
      writes: [{ key: KEYRING_KEY, value: keyringIdFormat.encode(keyring.id) }],
    })
  } else if (!keyringIdFormat.decode(entry.value).equals(keyring.id)) {
    throw new Error(`the keyring of ${folder} belongs to another store`)
  }
  return keyring
}

/**
 * Composition: the only folder that names a driver. Opens a data folder in an order that is safe to repeat after every
 * crash: records, ownership of the folder, keys, blobs; and closes it in the reverse order.
 */
import { join } from 'node:path'
import { RESERVE_BYTES } from '../blobs/file-blobs.ts'
import { Space } from '../blobs/space.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { type Disk, realDisk } from '../lib/disk.ts'
import { Ids } from '../lib/ids.ts'
import { MemoryDisk } from '../lib/memory-disk.ts'
import { type Random, systemRandom } from '../lib/random.ts'
import { readFindings } from '../meta/journal/findings-file.ts'
import { openMemoryMeta } from '../meta/memory/memory.ts'
import type { Meta, MetaEngine, Snapshot } from '../meta/meta.ts'
import { outageText } from '../meta/postgres/outage.ts'
import { ClusterPeers } from '../store/cluster/cluster-peers.ts'
import { clusterKey, readCluster } from '../store/cluster/cluster-records.ts'
import type { ClusterTiming } from '../store/cluster/liveness.ts'
import { Expelled, type Membership } from '../store/cluster/membership.ts'
import { FencedMeta, fenceAt, OwnershipLost } from '../store/commit/fenced-meta.ts'
import { joinOwner, takeOwnership, workerSocket } from '../store/commit/folder-ownership.ts'
import { unguarded } from '../store/commit/lost-record-guard.ts'
import { recordKey } from '../store/commit/record-keys.ts'
import { registerWorkerFence, removeStrayFences, removeWorkerFence } from '../store/commit/worker-fences.ts'
import { NO_PEERS, type PeerProcesses } from '../store/reclaim/reclamation-barrier.ts'
import { Store } from '../store/store.ts'
import { startUsageCounting } from '../store/usage/usage-mark.ts'
import { Ballast } from './ballast.ts'
import { isBlobsAddress, openMovingBlobs } from './blob-driver.ts'
import { blobsPlaceOf, enterBlobsMove } from './blobs-move.ts'
import type { ClockWatch } from './clock-watch.ts'
import type { ClusterSettings } from './cluster-keyring.ts'
import { assertComplete } from './database-claim.ts'
import { type DatabaseMember, joinDatabase, type MemberEvents } from './database-member.ts'
import { assertReadable, stampFolder, stampOfFolder, stampOfMeta } from './folder-format.ts'
import { assertNotMoved, assertWhole } from './folder-markers.ts'
import { assertBlobsAreThere, assertNoForeignBlobs } from './foreign-blobs.ts'
import { openKeyring } from './open-keyring.ts'
import { reconsiderVolumes } from './reconsider-volumes.ts'
import { openCopy, type SecondCopy } from './second-copy.ts'
import { SharedMount } from './shared-mount.ts'

export interface ServerParts {
  readonly store: Store
  /** All records as of one point in time. */
  snapshot(): Promise<Snapshot>
  /** The second copy of the metadata, for engines that need one. */
  readonly copy?: SecondCopy | undefined
  /** Reloads the list of records known to be lost. */
  reloadFindings(): Promise<void>
  close(): Promise<void>
}

export interface FolderOptions {
  readonly folder: string
  /** A `postgres://` address; absent for LMDB in the folder. */
  readonly metaUrl?: string
  /** The folder or address of the blobs, when they are not in the data folder. */
  readonly blobsPlace?: string
  /** The folder or address that blobs move from. */
  readonly blobsFrom?: string
  readonly durability?: 'fsync' | 'os'
  /** R22. Named keys must be created before they are used. */
  readonly strictKeys?: boolean
  readonly clock?: Clock
  readonly random?: Random
  /** The disk for blobs and keys; LMDB does its own I/O. */
  readonly disk?: Disk
  /** The processes that will join this one. */
  readonly others?: PeerProcesses
  /** The journal of the second copy cannot be written. */
  readonly onGap?: (error: unknown) => void
  /** Called while the database server is unavailable, or another server may still use it, with the reason. */
  readonly onWait?: (line: string) => void
  /** The gateways that share the store; absent for a server alone. */
  readonly cluster?: ClusterSettings | undefined
  /** Where operators find this server. */
  readonly address?: string | undefined
  readonly clusterTiming?: ClusterTiming | undefined
  /** Callbacks about the membership of a server whose records are in a database. */
  readonly membershipEvents?: Partial<MemberEvents>
}

/** A folder that this process owns, alone or with workers that it admits. */
export interface OwnedFolder extends ServerParts {
  /** Increases with every start on the folder. */
  readonly incarnation: number
  /** Must be called before a worker of this name is started. */
  admit(writer: Buffer): Promise<void>
  /** Called after it has exited; once resolved, none of its commits can take effect. */
  dismiss(writer: Buffer): Promise<void>
  /** For records in a database. */
  readonly membership?: Membership | undefined
  readonly clockWatch?: ClockWatch
  /** For blobs in a folder that gateways share. */
  readonly mount?: SharedMount | undefined
}

/** Drivers are loaded on demand: a store in memory needs neither. */
export async function openMeta(options: FolderOptions): Promise<MetaEngine> {
  const { folder, metaUrl, durability = 'fsync', onWait } = options
  if (metaUrl !== undefined) {
    const { openPostgresMeta } = await import('../meta/postgres/postgres.ts')
    return openPostgresMeta({ url: metaUrl, onWait: waiting => onWait?.(outageText(waiting)) })
  }
  const { openLmdbMeta } = await import('../meta/lmdb/lmdb.ts')
  return openLmdbMeta({ path: join(folder, 'meta'), durability })
}

/** Opens the store in a folder as its only owner, or as a member of its cluster. */
export async function openFolder(options: FolderOptions): Promise<OwnedFolder> {
  const { folder, random = systemRandom } = options
  await realDisk.makeFolder(folder)
  assertReadable(folder, await stampOfFolder(folder))
  await assertWhole(folder)
  await new Ballast(realDisk, folder).release()
  if (options.metaUrl !== undefined) return openDatabase(options)
  await assertNotMoved(folder)
  const { meta, copy, close } = await openRecords(options)
  return closeOnError(close, async () => {
    const ownership = await takeOwnership(folder, meta, realDisk, random)
    return closeOnError(
      () => ownership.end(),
      async () => {
        // Checked again: a rebuild that started since sets its marker before it looks for an owner.
        await assertWhole(folder)
        await assertNotMoved(folder)
        await stampFolder(folder, meta)
        await copy?.mark(ownership.incarnation)
        // LMDB commits end with their process, so nothing has to fence them.
        const { incarnation } = ownership
        await enterBlobsMove(meta, options, () => true)
        const store = await openFolderStore({ ...options, incarnation }, meta)
        await loadFindings(store, copy)
        await reconsiderVolumes(unguarded(store.context))
        await startUsageCounting(unguarded(store.context), incarnation)
        await store.namedKeys.finish()
        return {
          store,
          snapshot: () => meta.snapshot(),
          incarnation,
          copy,
          reloadFindings: () => loadFindings(store, copy),
          admit: async () => {},
          dismiss: writer => realDisk.remove(join(folder, workerSocket(writer))),
          async close() {
            // The mark is only a hint to the next start, so its failure does not fail the shutdown.
            await copy?.mark(ownership.incarnation).catch(() => {})
            await closeStore(store, close, ownership)
          },
        }
      },
    )
  })
}

/** A database server may still execute a commit of a dead process, so that every commit is fenced by its member. */
async function openDatabase(options: FolderOptions): Promise<OwnedFolder> {
  const { folder, cluster, clock = systemClock, random = systemRandom, others = NO_PEERS } = options
  const meta = await openMeta(options)
  return closeOnError(
    () => meta.close(),
    async () => {
      assertReadable('the database', await stampOfMeta(meta))
      const isExclusive = cluster === undefined
      const events = options.membershipEvents ?? {}
      const [onWait, timing] = [options.onWait ?? (() => {}), options.clusterTiming]
      const place = { folder, meta, clock, random, address: options.address, timing }
      const member = await joinDatabase({ ...place, isExclusive, onWait, events })
      return closeOnError(
        () => member.leave(),
        async () => {
          const { membership, incarnation, isFirst, clockWatch } = member
          const isAlone = async (): Promise<boolean> => (await readCluster(meta)).members.size === 1
          await assertComplete(meta)
          await stampFolder(folder, meta)
          const mount = await openMount(options, member)
          const peers = new ClusterPeers(membership, others, isExclusive)
          await enterBlobsMove(membership.meta, options, isAlone)
          const opened = { ...options, others: peers, incarnation }
          const store = await openFolderStore(opened, membership.meta, membership.id)
          const { context } = store
          peers.serve(context, error =>
            events.onLost?.(new OwnershipLost(`the keys could not be reloaded: ${String(error)}`)),
          )
          if (isFirst) await beginIncarnation(store, incarnation)
          return {
            store,
            snapshot: () => meta.snapshot(),
            incarnation,
            copy: undefined,
            membership,
            clockWatch,
            mount,
            reloadFindings: async () => {},
            admit: writer => registerWorkerFence(context, writer, membership.id),
            async dismiss(writer) {
              await removeWorkerFence(context, writer).catch((error: unknown) => {
                // Nothing of an expelled server takes effect, and so nothing of its workers.
                if (!(error instanceof Expelled)) throw error
              })
              await realDisk.remove(join(folder, workerSocket(writer)))
            },
            async close() {
              await context.blobs.close()
              await member.leave()
              await meta.close()
            },
          }
        },
      )
    },
  )
}

/** A folder of blobs that other gateways mount too is tested against them. */
async function openMount(options: FolderOptions, member: DatabaseMember): Promise<SharedMount | undefined> {
  const { cluster, blobsPlace, disk = realDisk, clock = systemClock, random = systemRandom } = options
  if (cluster === undefined || blobsPlace === undefined || isBlobsAddress(blobsPlace)) return undefined
  const { membership, renewMs } = member
  const report = options.membershipEvents?.onReport ?? (() => {})
  const parts = { disk, folder: blobsPlace, meta: membership.meta, id: membership.id, clock, random }
  const mount = await SharedMount.join({ ...parts, pauseMs: renewMs, report })
  member.attach(mount)
  return mount
}

/** Done by the first member. Others may have joined since. */
async function beginIncarnation(store: Store, incarnation: number): Promise<void> {
  const { meta } = store.context
  await removeStrayFences(store.context, async id => (await meta.get(clusterKey.member(id))) !== undefined)
  await startUsageCounting(unguarded(store.context), incarnation)
  await store.namedKeys.finish()
}

/** Opens the engine together with its second copy, so that every commit reaches both. */
async function openRecords(
  options: FolderOptions,
  generation?: number,
): Promise<{ meta: MetaEngine; copy: SecondCopy | undefined; close: () => Promise<void> }> {
  const meta = await openMeta(options)
  const copy = await closeOnError(
    () => meta.close(),
    async () => {
      assertReadable(options.metaUrl === undefined ? options.folder : 'the database', await stampOfMeta(meta))
      return openCopy(meta, options, generation)
    },
  )
  return {
    meta,
    copy,
    async close() {
      await meta.close()
      await copy?.journal.close()
    },
  }
}

/** Options that the owner of a folder passes to a worker. */
interface WorkerOptions extends FolderOptions {
  readonly incarnation: number
  /** Generation of the second copy. */
  readonly generation: number | undefined
  readonly writer: Buffer
  /** Its server's membership, for records in a database. */
  readonly member?: Buffer | undefined
}

/** Opens the store in a folder whose owner has admitted this process. */
export async function joinFolder(options: WorkerOptions): Promise<ServerParts> {
  const { folder, incarnation, generation, writer } = options
  const { meta, copy, close } = await openRecords(options, generation)
  return closeOnError(close, async () => {
    const presence = await joinOwner(folder, meta, incarnation, writer)
    return closeOnError(
      () => presence.end(),
      async () => {
        const fenced = options.member === undefined ? meta : await fencedWorker(meta, options.member, writer)
        const store = await openFolderStore({ ...options, isWorker: true }, fenced, writer)
        const reloadFindings = (): Promise<void> => loadFindings(store, copy)
        await reloadFindings()
        const closing = (): Promise<void> => closeStore(store, close, presence)
        return { store, snapshot: () => meta.snapshot(), copy, reloadFindings, close: closing }
      },
    )
  })
}

/** A worker commits while its server is a member and has not dismissed it. */
async function fencedWorker(meta: Meta, member: Buffer, writer: Buffer): Promise<FencedMeta> {
  const membership = await fenceAt(meta, clusterKey.member(member), () => new Expelled())
  return new FencedMeta(meta, [membership, await fenceAt(meta, recordKey.fence(writer))])
}

async function loadFindings({ context }: Store, copy: SecondCopy | undefined): Promise<void> {
  if (copy !== undefined) context.losses.replace(await readFindings(realDisk, copy.folder))
}

async function closeOnError<T>(close: () => Promise<void>, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    await close()
    throw error
  }
}

function openFolderStore(
  options: FolderOptions & Pick<StoreOptions, 'isWorker'> & { readonly incarnation: number },
  meta: Meta,
  writer?: Buffer,
): Promise<Store> {
  const { folder, durability = 'fsync', disk = realDisk, others, incarnation, cluster, isWorker } = options
  const { clock = systemClock, random = systemRandom } = options
  const [blobsPlace, blobsFrom] = [blobsPlaceOf(options), options.blobsFrom]
  const strictKeys = options.strictKeys === true
  const shared = { disk, folder, blobsPlace, blobsFrom, durability, strictKeys, clock, random, others, cluster }
  const hasOwnDisk = options.metaUrl === undefined && options.blobsPlace !== undefined
  const recordSpace = hasOwnDisk ? new Space(disk, folder, RESERVE_BYTES) : undefined
  return openStore({ meta, ...shared, writer, incarnation, recordSpace, isWorker })
}

async function closeStore(
  store: Store,
  closeRecords: () => Promise<void>,
  presence: { end(): Promise<void> },
): Promise<void> {
  await store.context.blobs.close()
  // The last commits finish first: the next owner must find them either complete or not at all.
  await closeRecords()
  await presence.end()
}

/** A store in memory. */
export async function openMemory(
  options: Pick<FolderOptions, 'clock' | 'random' | 'strictKeys' | 'disk'> = {},
): Promise<ServerParts> {
  const { clock = systemClock, random = systemRandom, disk = new MemoryDisk() } = options
  const meta = await openMemoryMeta()
  const folder = '/'
  const store = await openStore({
    meta,
    disk,
    folder,
    blobsPlace: '/blobs',
    durability: 'os',
    strictKeys: options.strictKeys === true,
    clock,
    random,
  })
  return {
    store,
    snapshot: () => meta.snapshot(),
    reloadFindings: async () => {},
    async close() {
      await store.context.blobs.close()
      await meta.close()
    },
  }
}

interface StoreOptions {
  readonly meta: Meta
  readonly disk: Disk
  readonly folder: string
  readonly blobsPlace: string
  readonly blobsFrom?: string | undefined
  readonly durability: 'fsync' | 'os'
  readonly strictKeys: boolean
  readonly clock: Clock
  readonly random: Random
  readonly others?: PeerProcesses | undefined
  readonly recordSpace?: Space | undefined
  /** The name of this process; generated when absent. */
  readonly writer?: Buffer | undefined
  /** Its owner has checked the engine of the blobs. */
  readonly isWorker?: boolean | undefined
  /** The store's incarnation. */
  readonly incarnation?: number | undefined
  readonly cluster?: ClusterSettings | undefined
}

/** The store over an open metadata engine and a disk. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { meta, disk, folder, clock, random, others, incarnation, recordSpace } = options
  if (options.isWorker !== true) await assertNoForeignBlobs(options)
  const keyring = await openKeyring(options)
  if (options.isWorker !== true) await assertBlobsAreThere(options, keyring.id)
  const ids = new Ids(random, options.writer)
  const blobs = await openMovingBlobs(options.blobsPlace, options.blobsFrom, {
    disk,
    writer: ids.writer,
    durability: options.durability,
    ...(options.isWorker === true ? {} : { storeId: keyring.id }),
    ...(folder === '/' ? { reserveBytes: 0 } : {}),
  })
  return Store.open({ meta, blobs, recordSpace, keyring, clock, random, ids, others, incarnation })
}

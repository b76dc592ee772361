/**
 * Lets one server own a data folder. The owner is named in a record changed only by compare-and-set and proves it is
 * alive by its socket in the folder: of two servers that start at once one wins, and liveness is never guessed. Workers
 * prove theirs the same way, and a new owner waits until the last worker of the previous one has exited.
 */
import { join } from 'node:path'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { format, struct, text, uint } from '../../lib/codec.ts'
import type { Disk } from '../../lib/disk.ts'
import { isAlive, type LivenessSocket, openLivenessSocket } from '../../lib/liveness-socket.ts'
import type { Random } from '../../lib/random.ts'
import type { Meta } from '../../meta/meta.ts'
import { OwnershipLost } from './fenced-meta.ts'
import { recordKey } from './record-keys.ts'

interface FolderOwner {
  /** Grows with every start. */
  readonly incarnation: number
  /** Name of the owner's socket file; empty for a cluster, whose members are judged by their renewals. */
  readonly socket: string
}

const ownerFields = struct<FolderOwner>({ incarnation: uint, socket: text })

/** X1 has the same fields. Versions before 0.2.0 do not know the format stamp; this marker keeps them from starting. */
export const ownerFormat = format<FolderOwner>('X2', ownerFields, format<FolderOwner>('X1', ownerFields))

export class FolderInUse extends Error {
  constructor(folder: string) {
    super(`another server is using ${folder}`)
    this.name = 'FolderInUse'
  }
}

interface FolderOwnership {
  readonly incarnation: number
  end(): Promise<void>
}

const SOCKET = /^owner-[0-9a-f]{16}\.sock$/
const WORKER_SOCKET = /^worker-[0-9a-f]{12}\.sock$/
/** A worker exits as soon as it loses its owner. One that outlives this timeout is stuck, so ownership is refused. */
const WORKERS_MS_MAX = 10_000
const WORKERS_POLL_MS = 20

/** For callers without access to the records: throws if an owner or a worker is alive in the folder. */
export async function assertFolderUnowned(folder: string, disk: Disk): Promise<void> {
  for (const name of await disk.list(folder)) {
    if (!SOCKET.test(name) && !WORKER_SOCKET.test(name)) continue
    if (await isAlive(join(folder, name))) throw new FolderInUse(folder)
  }
}

export async function takeOwnership(
  folder: string,
  meta: Meta,
  disk: Disk,
  random: Random,
  clock: Clock = systemClock,
): Promise<FolderOwnership> {
  const entry = await meta.get(recordKey.owner())
  const before = entry === undefined ? undefined : ownerFormat.decode(entry.value)
  if (before !== undefined && before.socket !== '' && (await isAlive(join(folder, before.socket))))
    throw new FolderInUse(folder)
  const socket = `owner-${random.bytes(8).toString('hex')}.sock`
  const socketServer: LivenessSocket = await openLivenessSocket(join(folder, socket))
  const incarnation = (before?.incarnation ?? 0) + 1
  try {
    const isOwner = await meta.commit({
      checks: [{ key: recordKey.owner(), stamp: entry?.stamp }],
      writes: [{ key: recordKey.owner(), value: ownerFormat.encode({ incarnation, socket }) }],
    })
    if (!isOwner) throw new FolderInUse(folder)
    // After the record changed: a worker of the previous owner checks the record once its socket is open.
    for (const name of await disk.list(folder)) {
      const path = join(folder, name)
      if (WORKER_SOCKET.test(name) && !(await hasExited(path, clock))) throw new FolderInUse(folder)
      if (WORKER_SOCKET.test(name) || (SOCKET.test(name) && name !== socket)) await disk.remove(path)
    }
    return { incarnation, end: () => socketServer.end() }
  } catch (error) {
    await socketServer.end()
    throw error
  }
}

export interface FolderHold {
  /** Name of the socket that shows that this server lives. */
  readonly socket: string
  /** Sockets of servers that have died in this folder. */
  readonly dead: ReadonlySet<string>
  end(): Promise<void>
}

/** For a store whose records are in a database: only the files of the folder are taken, and no record says so. */
export async function holdFolder(
  folder: string,
  disk: Disk,
  random: Random,
  clock: Clock = systemClock,
): Promise<FolderHold> {
  const names = await disk.list(folder)
  const dead = new Set<string>()
  for (const name of names.filter(one => SOCKET.test(one))) {
    if (await isAlive(join(folder, name))) throw new FolderInUse(folder)
    dead.add(name)
  }
  for (const name of names.filter(one => WORKER_SOCKET.test(one))) {
    if (!(await hasExited(join(folder, name), clock))) throw new FolderInUse(folder)
    dead.add(name)
  }
  const socket = `owner-${random.bytes(8).toString('hex')}.sock`
  const socketServer = await openLivenessSocket(join(folder, socket))
  for (const name of dead) await disk.remove(join(folder, name))
  return { socket, dead, end: () => socketServer.end() }
}

async function hasExited(path: string, clock: Clock): Promise<boolean> {
  for (let waited = 0; await isAlive(path); waited += WORKERS_POLL_MS) {
    if (waited >= WORKERS_MS_MAX) return false
    await clock.sleep(WORKERS_POLL_MS)
  }
  return true
}

/** A worker's liveness socket; a killed worker leaves the file behind. */
export const workerSocket = (writer: Buffer): string => `worker-${writer.toString('hex')}.sock`

/** Registers a worker of this incarnation's owner, which may have lost the folder since it started the worker. */
export async function joinOwner(
  folder: string,
  meta: Meta,
  incarnation: number,
  writer: Buffer,
): Promise<LivenessSocket> {
  const socketServer = await openLivenessSocket(join(folder, workerSocket(writer)))
  try {
    const entry = await meta.get(recordKey.owner())
    if (entry === undefined || ownerFormat.decode(entry.value).incarnation !== incarnation) throw new OwnershipLost()
    return socketServer
  } catch (error) {
    await socketServer.end()
    throw error
  }
}

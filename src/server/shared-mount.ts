/**
 * Gateways whose blobs are in a folder that all of them mount test it against each other. Each appends to a file of its
 * own, syncs it, and says so in the metadata; the others must find those bytes at once. A gateway joins only if it sees
 * what the others wrote and they see what it wrote. Later checks report: stopping could stop every gateway because of
 * one machine, and a reader of late bytes gets an error, never wrong bytes.
 */
import { join } from 'node:path'
import type { Clock } from '../lib/clock.ts'
import type { Disk, DiskFile } from '../lib/disk.ts'
import type { Random } from '../lib/random.ts'
import type { Meta } from '../meta/meta.ts'
import {
  type ClusterView,
  clusterKey,
  type MountProbe,
  PROBE_TOKEN_BYTES,
  probeFormat,
  readCluster,
  type SeenMember,
} from '../store/cluster/cluster-records.ts'

const FOLDER = 'probes'
/** Tokens of several rounds are in one page, so that a stale page is found as well as a stale size. */
const STRIDE_BYTES = 64
const APPEND_MS = 30_000
const ACKNOWLEDGE_MS = 15_000

const ADVICE =
  'mount the same filesystem on every gateway, without caches that outlive a sync (NFS: actimeo=0,lookupcache=none)'

export class MountRefused extends Error {
  constructor(what: string) {
    super(`${what}: ${ADVICE}`)
    this.name = 'MountRefused'
  }
}

interface SharedMountParts {
  readonly disk: Disk
  /** The folder of the blobs. */
  readonly folder: string
  readonly meta: Meta
  readonly id: Buffer
  readonly clock: Clock
  readonly random: Random
  /** Between two looks at the others while this gateway joins. */
  readonly pauseMs: number
  readonly report: (level: 'info' | 'error', text: string) => void
}

/** The state of another gateway's file, as this one has seen it. */
interface Watched {
  /** Kept open: a client that caches attributes shows an old size to readers that have the file open. */
  file: DiskFile | undefined
  seen: number
  isLate: boolean
}

export class SharedMount {
  readonly #parts: SharedMountParts
  readonly #folder: string
  readonly #watched = new Map<string, Watched>()
  #file: DiskFile | undefined
  #count = 0
  #token: Buffer = Buffer.alloc(PROBE_TOKEN_BYTES)
  #appendedAt = 0
  #round: Promise<void> | undefined
  /** Checks that did not find at once what another gateway had synced. */
  late = 0

  private constructor(parts: SharedMountParts) {
    this.#parts = parts
    this.#folder = join(parts.folder, FOLDER)
  }

  /** Rejects with `MountRefused` when the folder is not the others', or shows writes late. */
  static async join(parts: SharedMountParts): Promise<SharedMount> {
    const mount = new SharedMount(parts)
    try {
      await mount.#join()
      return mount
    } catch (error) {
      await mount.close()
      throw error
    }
  }

  async #join(): Promise<void> {
    const { disk, meta, folder } = this.#parts
    await disk.makeFolder(this.#folder)
    // Listed before the members: a file is created after its gateway has joined.
    const names = await disk.list(this.#folder)
    const view = await readCluster(meta)
    await this.#removeStray(names, view)
    const others = this.#others(view)
    for (const { member, probe } of others) {
      if (await this.#sees(member, probe)) continue
      throw new MountRefused(`${folder} does not show what the gateway at ${member.address} has written there`)
    }
    await this.#append()
    await this.#commit()
    await this.#awaitReaders(others.map(({ member }) => member))
  }

  #others({ members, probes }: ClusterView): { member: SeenMember; probe: MountProbe }[] {
    return [...members.values()].flatMap(member => {
      const probe = probes.get(member.id.toString('hex'))
      return probe === undefined || member.id.equals(this.#parts.id) ? [] : [{ member, probe }]
    })
  }

  /** Each of them must find this gateway's first token, unless it is expelled meanwhile. */
  async #awaitReaders(readers: readonly SeenMember[]): Promise<void> {
    const { clock, meta, id, folder, pauseMs } = this.#parts
    const endsAt = clock.elapsed() + ACKNOWLEDGE_MS
    for (;;) {
      const view = await readCluster(meta)
      const missing = readers.filter(({ id: reader }) => {
        const name = reader.toString('hex')
        if (!view.members.has(name)) return false
        return view.probes.get(name)?.seen.some(([of, count]) => of.equals(id) && count > 0) !== true
      })
      if (missing.length === 0) return
      if (clock.elapsed() >= endsAt) {
        throw new MountRefused(`the gateway at ${missing[0]!.address} does not see what this one writes to ${folder}`)
      }
      // Another one that joins at the same time waits for this gateway.
      await this.look(view)
      await clock.sleep(pauseMs)
    }
  }

  /** Called with every view of the cluster; a call during another one has no effect. Never rejects. */
  look(view: ClusterView): Promise<void> {
    this.#round ??= this.#look(view)
      .catch((error: unknown) => {
        this.#parts.report('error', `the shared folder ${this.#parts.folder} could not be checked: ${String(error)}`)
      })
      .finally(() => {
        this.#round = undefined
      })
    return this.#round
  }

  async #look(view: ClusterView): Promise<void> {
    for (const [name, { file }] of this.#watched) {
      if (view.members.has(name)) continue
      this.#watched.delete(name)
      await file?.close()
    }
    let isNews = false
    for (const { member, probe } of this.#others(view)) {
      const before = this.#watched.get(member.id.toString('hex'))?.seen ?? 0
      const isSeen = await this.#sees(member, probe)
      if (isSeen && probe.count > before) isNews = true
      this.#judge(member, isSeen)
    }
    if (this.#parts.clock.elapsed() - this.#appendedAt >= APPEND_MS) {
      await this.#append()
      isNews = true
    }
    if (isNews) await this.#commit()
  }

  #judge({ id, address }: SeenMember, isSeen: boolean): void {
    const { folder, report } = this.#parts
    const watched = this.#watched.get(id.toString('hex'))!
    if (!isSeen && !watched.isLate) {
      this.late++
      report('error', `${folder} does not immediately show what the gateway at ${address} has synced there: ${ADVICE}`)
    }
    if (isSeen && watched.isLate) report('info', `${folder} shows what the gateway at ${address} has written`)
    watched.isLate = !isSeen
  }

  /** Reads also when there is nothing new, so that a cache of attributes is warm when there is. */
  async #sees({ id }: SeenMember, { count, token }: MountProbe): Promise<boolean> {
    const name = id.toString('hex')
    const watched: Watched = this.#watched.get(name) ?? { file: undefined, seen: 0, isLate: false }
    this.#watched.set(name, watched)
    const found = Buffer.alloc(PROBE_TOKEN_BYTES)
    try {
      watched.file ??= await this.#parts.disk.open(join(this.#folder, name), 'read')
      await watched.file.read([found], (count - 1) * STRIDE_BYTES)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    if (!found.equals(token)) return false
    watched.seen = Math.max(watched.seen, count)
    return true
  }

  async #append(): Promise<void> {
    const { disk, id, random, clock } = this.#parts
    if (this.#file === undefined) {
      this.#file = await disk.open(join(this.#folder, id.toString('hex')), 'create')
      await disk.syncFolder(this.#folder)
    }
    this.#token = random.bytes(PROBE_TOKEN_BYTES)
    await this.#file.write([this.#token], this.#count * STRIDE_BYTES)
    await this.#file.datasync()
    this.#count++
    this.#appendedAt = clock.elapsed()
  }

  async #commit(): Promise<void> {
    const { meta, id } = this.#parts
    const seen = [...this.#watched].map(([name, { seen: count }]) => [Buffer.from(name, 'hex'), count] as const)
    const value = probeFormat.encode({ count: this.#count, token: this.#token, seen })
    await meta.commit({ checks: [], writes: [{ key: clusterKey.probe(id), value }] })
  }

  /** Files and records of gateways that are gone. */
  async #removeStray(names: readonly string[], { members, probes }: ClusterView): Promise<void> {
    const { disk, meta } = this.#parts
    for (const name of names) if (!members.has(name)) await disk.remove(join(this.#folder, name))
    for (const name of probes.keys()) {
      const key = clusterKey.probe(Buffer.from(name, 'hex'))
      if (!members.has(name)) await meta.commit({ checks: [], writes: [{ key, value: undefined }] })
    }
  }

  async close(): Promise<void> {
    await this.#round
    for (const { file } of this.#watched.values()) await file?.close()
    await this.#file?.close()
    if (this.#file === undefined) return
    const { disk, id, meta } = this.#parts
    await disk.remove(join(this.#folder, id.toString('hex')))
    // Files of an expelled gateway are removed by the next one that joins.
    await meta.commit({ checks: [], writes: [{ key: clusterKey.probe(id), value: undefined }] }).catch(() => {})
  }
}

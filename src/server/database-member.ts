/**
 * A server whose records are in a database is a member there, alone or of a cluster. A server that dies is missed by
 * its renewals; one that died on this machine is known by its socket, and replaced without waiting.
 */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Clock } from '../lib/clock.ts'
import { realDisk } from '../lib/disk.ts'
import { WRITER_BYTES } from '../lib/ids.ts'
import type { Random } from '../lib/random.ts'
import type { Meta } from '../meta/meta.ts'
import type { ClusterView, SeenMember } from '../store/cluster/cluster-records.ts'
import { joinCluster } from '../store/cluster/join.ts'
import type { ClusterTiming } from '../store/cluster/liveness.ts'
import type { Membership } from '../store/cluster/membership.ts'
import { type FolderHold, holdFolder } from '../store/commit/folder-ownership.ts'
import { VERSION } from '../version.ts'
import { ClockWatch, type OnReport } from './clock-watch.ts'
import { type RenewalEvents, RenewalLoop } from './renewal-loop.ts'

const RENEW_MS = 2_000
/** Longer than a pause of the runtime, shorter than operators wait for a failover. */
const EXPEL_MS = 12_000

/** Called about the membership of a server. */
export interface MemberEvents extends Pick<RenewalEvents, 'onLost' | 'onFailure'> {
  readonly onReport: OnReport
}

interface MemberOptions {
  readonly folder: string
  readonly meta: Meta
  readonly clock: Clock
  readonly random: Random
  /** No other member is tolerated. */
  readonly isExclusive: boolean
  /** Where operators find this server. */
  readonly address: string | undefined
  readonly timing?: ClusterTiming | undefined
  readonly onWait: (line: string) => void
  readonly events: Partial<MemberEvents>
}

interface ClusterObserver {
  /** Never rejects. */
  look(view: ClusterView): Promise<void>
  close(): Promise<void>
}

export interface DatabaseMember {
  readonly membership: Membership
  readonly incarnation: number
  /** No other member was there. */
  readonly isFirst: boolean
  readonly clockWatch: ClockWatch
  readonly renewMs: number
  /** Looks at the cluster with every renewal, until this member leaves. */
  attach(observer: ClusterObserver): void
  /** Leaves, so that others need not miss it. Called after the last commit. */
  leave(): Promise<void>
}

/** Sockets and processes are comparable only within one boot of one machine. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return hostname()
  }
}

export async function joinDatabase(options: MemberOptions): Promise<DatabaseMember> {
  const { folder, meta, clock, random, isExclusive } = options
  const { onLost = () => {}, onFailure = () => {}, onReport = () => {} } = options.events
  const timing = options.timing ?? { renewMs: RENEW_MS, expelMs: EXPEL_MS }
  const clockWatch = new ClockWatch(meta, clock, onReport)
  await clockWatch.assertFit()
  const hold = await holdFolder(folder, realDisk, random, clock)
  const machine = bootId()
  let observer: ClusterObserver | undefined
  try {
    const { membership, incarnation, isFirst } = await joinCluster({
      meta,
      clock,
      random,
      timing,
      id: random.bytes(WRITER_BYTES),
      member: {
        address: options.address ?? hostname(),
        version: VERSION,
        isExclusive,
        socket: `${machine}/${hold.socket}`,
      },
      isKnownDead: async member => diedHere(member, machine, hold),
      onWait: address => options.onWait(waitText(address, timing)),
    })
    const loop = new RenewalLoop(membership, timing.renewMs, {
      onLost,
      onFailure,
      onRound() {
        void clockWatch.look()
        void observer?.look(membership.view!)
      },
    })
    await loop.start()
    return {
      membership,
      incarnation,
      isFirst,
      clockWatch,
      renewMs: timing.renewMs,
      attach(next) {
        observer = next
      },
      async leave() {
        await loop.stop()
        await observer?.close()
        // A member that cannot leave is missed by its renewals.
        await membership.leave().catch(() => {})
        await hold.end()
      },
    }
  } catch (error) {
    await hold.end()
    throw error
  }
}

function diedHere({ socket }: SeenMember, machine: string, { dead }: FolderHold): boolean {
  const [where, name] = socket.split('/')
  return where === machine && name !== undefined && dead.has(name)
}

const waitText = (address: string, { expelMs }: ClusterTiming): string =>
  `a server at ${address} has used this database and did not say that it stopped: waiting up to ` +
  `${Math.ceil(expelMs / 1000)} s to see whether it lives`

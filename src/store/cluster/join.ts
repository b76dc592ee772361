/**
 * Joins a cluster, or takes a store alone. A server that was started without a cluster tolerates no other: it waits
 * until every member it finds has stood still for long enough, and is refused as soon as one of them is seen to renew.
 */
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { Entry, Meta } from '../../meta/meta.ts'
import { ownerFormat } from '../commit/folder-ownership.ts'
import { recordKey } from '../commit/record-keys.ts'
import {
  type ClusterView,
  clusterKey,
  type Member,
  memberFormat,
  readCluster,
  renewalFormat,
  type SeenMember,
} from './cluster-records.ts'
import { type ClusterTiming, Liveness } from './liveness.ts'
import { expel, Membership } from './membership.ts'

/** A server that lives uses the store. */
export class StoreInUse extends Error {
  constructor({ address, isExclusive }: Member) {
    const who = isExclusive ? 'another server' : 'a cluster'
    const advice = isExclusive ? 'stop it first, or run both with --cluster' : 'join it with --cluster'
    super(`${who} (${address}) is using this database: ${advice}`)
    this.name = 'StoreInUse'
  }
}

export interface JoinOptions {
  readonly meta: Meta
  readonly clock: Clock
  readonly random: Random
  readonly timing: ClusterTiming
  /** The writer id of this server. */
  readonly id: Buffer
  readonly member: Pick<Member, 'address' | 'version' | 'isExclusive' | 'socket'>
  /** True for a member that certainly has died, for example because its process on this machine is gone. */
  readonly isKnownDead: (member: SeenMember) => Promise<boolean>
  /** Called while it waits for a member that may be dead. */
  readonly onWait?: ((address: string) => void) | undefined
}

export interface Joined {
  readonly membership: Membership
  /** Grows whenever a server joins a store without members. */
  readonly incarnation: number
  /** Nobody else was a member. */
  readonly isFirst: boolean
}

export async function joinCluster(options: JoinOptions): Promise<Joined> {
  for (;;) {
    // Read before the members: a first member that joins after this changes it.
    const owner = await options.meta.get(recordKey.owner())
    const view = await readCluster(options.meta)
    const rivals = [...view.members.values()].filter(one => one.isExclusive || options.member.isExclusive)
    if (rivals.length > 0) await expelDeadRivals(options, rivals)
    else {
      const joined = await tryToJoin(options, view, owner)
      if (joined !== undefined) return joined
    }
  }
}

/** Resolves when all of them are expelled; throws StoreInUse when one lives. */
async function expelDeadRivals(options: JoinOptions, rivals: readonly SeenMember[]): Promise<void> {
  const { meta, clock, timing } = options
  const waiting = new Map<string, SeenMember>()
  for (const rival of rivals) {
    if (await options.isKnownDead(rival)) await expel(meta, rival)
    else waiting.set(rival.id.toString('hex'), rival)
  }
  if (waiting.size === 0) return
  options.onWait?.(rivals[0]!.address)
  const liveness = new Liveness(timing)
  while (waiting.size > 0) {
    const view = await readCluster(meta)
    const dead = liveness.observe(view, clock.elapsed())
    for (const [id, rival] of waiting) {
      const now = view.members.get(id)
      if (now !== undefined && now.renewalEntry.stamp !== rival.renewalEntry.stamp) throw new StoreInUse(rival)
      if (now === undefined || (dead.has(id) && (await expel(meta, now)))) waiting.delete(id)
    }
    if (waiting.size > 0) await clock.sleep(timing.renewMs)
  }
}

/** Undefined when the members or the barriers changed at the same time. */
async function tryToJoin(
  options: JoinOptions,
  view: ClusterView,
  owner: Entry | undefined,
): Promise<Joined | undefined> {
  const { meta, clock, random, timing, id, member } = options
  const [present] = view.members.values()
  const isFirst = present === undefined
  const before = owner === undefined ? 0 : ownerFormat.decode(owner.value).incarnation
  const incarnation = isFirst ? before + 1 : before
  const record = { ...member, incarnation, joinedAt: clock.now() }
  const writes = [
    { key: clusterKey.member(id), value: memberFormat.encode(record) },
    { key: clusterKey.renewal(id), value: renewalFormat.encode({ count: 0, passed: view.barriers }) },
  ]
  if (isFirst)
    writes.push({ key: recordKey.owner(), value: ownerFormat.encode({ incarnation, socket: member.socket }) })
  const hasJoined = await meta.commit({
    checks: [
      { key: clusterKey.member(id), stamp: undefined },
      // A barrier raised meanwhile would have to be passed by this member.
      { key: clusterKey.barrier(), stamp: view.barrierEntry?.stamp },
      // Of two that find no member only one is the first. One that finds a member joins while that is still there, so
      // that the next first one finds it.
      { key: recordKey.owner(), stamp: owner?.stamp },
      ...(isFirst ? [] : [{ key: clusterKey.member(present.id), stamp: present.entry.stamp }]),
    ],
    writes,
  })
  if (!hasJoined) return undefined
  return {
    membership: await Membership.over({ meta, clock, random, timing, id, joinedAt: view.barriers }),
    incarnation,
    isFirst,
  }
}

/**
 * One gateway's membership of a cluster. It renews its own record; the leader expels a member that stops renewing, and
 * any member replaces a leader that does. Expelling is one commit: from then on no commit of the expelled gateway can
 * succeed, however late it arrives.
 */
import type { Clock } from '../../lib/clock.ts'
import { WRITER_BYTES } from '../../lib/ids.ts'
import type { Random } from '../../lib/random.ts'
import type { Meta, Write } from '../../meta/meta.ts'
import { type Fence, FencedMeta, fenceAt, OwnershipLost } from '../commit/fenced-meta.ts'
import { type LocalBarrier, PassedBarriers, PendingBarrier, raised } from './barriers.ts'
import {
  type BarrierKind,
  type BarrierNumbers,
  barrierFormat,
  type ClusterView,
  clusterKey,
  holdFormat,
  leaderFormat,
  readCluster,
  renewalFormat,
  type SeenMember,
} from './cluster-records.ts'
import { type ClusterTiming, Liveness } from './liveness.ts'

export class Expelled extends OwnershipLost {
  constructor() {
    super('this server was expelled: it was not seen to renew its membership in time, or an operator expelled it')
  }
}

/** Another member leads; only maintenance depends on it. */
export class LeadershipLost extends Error {
  constructor() {
    super('another gateway leads the cluster')
    this.name = 'LeadershipLost'
  }
}

const HOLDS_PER_COMMIT = 100

interface MembershipParts {
  readonly meta: Meta
  readonly clock: Clock
  readonly random: Random
  readonly timing: ClusterTiming
  readonly id: Buffer
  /** The barriers that had been raised when this member joined. */
  readonly joinedAt: BarrierNumbers
}

/** This gateway's own processes. */
interface LocalProcesses {
  /** Called when a barrier is seen; passes when everything active in all processes of this gateway has left. */
  begin(kind: BarrierKind): LocalBarrier
  /** Called with every view before its barriers are answered. */
  see?(view: ClusterView): void
}

export class Membership {
  readonly id: Buffer
  readonly #name: string
  readonly #clock: Clock
  readonly #random: Random
  /** Every commit of this member checks that it still is one. */
  readonly meta: FencedMeta
  readonly #liveness: Liveness
  #passedBarriers: PassedBarriers | undefined
  #local: LocalProcesses | undefined
  readonly #joinedAt: BarrierNumbers
  readonly #unnumbered = new Map<BarrierKind, PendingBarrier>()
  readonly #pending = new Set<PendingBarrier>()
  /** Keys of holds that have ended. */
  readonly #released = new Set<Buffer>()
  #renewals = 0
  #leaderFence: Fence | undefined
  #view: ClusterView | undefined
  #renewedAt: number
  #onStep = (): void => {}

  private constructor({ meta, clock, random, timing, id, joinedAt }: MembershipParts, fence: Fence) {
    this.id = id
    this.#name = id.toString('hex')
    this.#clock = clock
    this.#random = random
    this.#liveness = new Liveness(timing)
    this.#joinedAt = joinedAt
    this.#renewedAt = clock.elapsed()
    this.meta = new FencedMeta(meta, [fence])
  }

  /** The records of the member were written just before. */
  static async over(parts: MembershipParts): Promise<Membership> {
    return new Membership(parts, await fenceAt(parts.meta, clusterKey.member(parts.id), () => new Expelled()))
  }

  /**
   * From now on barriers are answered, beginning with those asked for since this member joined: it may have read the
   * keyring before it changed.
   */
  serve(local: LocalProcesses): void {
    this.#local = local
    this.#passedBarriers = new PassedBarriers(this.#joinedAt, kind => local.begin(kind))
  }

  /** Called after every step. */
  onStep(listener: () => void): void {
    this.#onStep = listener
  }

  /** The last view; undefined before the first step. */
  get view(): ClusterView | undefined {
    return this.#view
  }

  /** Time since the last renewal that was acknowledged. */
  get renewalAgeMs(): number {
    return this.#clock.elapsed() - this.#renewedAt
  }

  silenceMs(id: string): number | undefined {
    return this.#liveness.silenceMs(id, this.#clock.elapsed())
  }

  /** Commits of maintenance also check that this member still leads; undefined while it does not. */
  get leaderMeta(): FencedMeta | undefined {
    return this.#leaderFence && new FencedMeta(this.meta, [this.#leaderFence])
  }

  /** Raises a barrier that all members must pass. Barriers raised between two steps share one number. */
  raiseBarrier(kind: BarrierKind): PendingBarrier {
    let barrier = this.#unnumbered.get(kind)
    if (barrier === undefined) {
      barrier = new PendingBarrier(kind)
      this.#unnumbered.set(kind, barrier)
    }
    return barrier
  }

  /** Holds reclamation from the next view of every member on, until the result is called or this member is gone. */
  async hold(): Promise<() => void> {
    const key = clusterKey.hold(this.#random.bytes(WRITER_BYTES))
    await this.meta.commit({ checks: [], writes: [{ key, value: holdFormat.encode(this.id) }] })
    return () => void this.#released.add(key)
  }

  /** Holds that ended, and those of members that are gone, which only the leader removes. */
  async #removeHolds(view: ClusterView): Promise<void> {
    const stray = this.#leaderFence === undefined ? [] : view.strayHolds.map(entry => entry.key)
    const writes = [...this.#released, ...stray].map(key => ({ key, value: undefined }))
    if (writes.length === 0 || !(await this.meta.commit({ checks: [], writes: writes.slice(0, HOLDS_PER_COMMIT) })))
      return
    for (const { key } of writes.slice(0, HOLDS_PER_COMMIT)) this.#released.delete(key)
  }

  /** One round: read the cluster, answer and raise barriers, renew, lead if no member does. Rejects with `Expelled`. */
  async step(): Promise<void> {
    const view = await readCluster(this.meta)
    this.#view = view
    for (const barrier of this.#pending) {
      barrier.see(view)
      if (barrier.hasPassed()) this.#pending.delete(barrier)
    }
    const dead = this.#liveness.observe(view, this.#clock.elapsed())
    this.#local?.see?.(view)
    await this.#renew(view)
    await this.#removeHolds(view)
    if (this.#unnumbered.size > 0) await this.#raiseBarriers(view)
    await this.#lead(view, dead)
    this.#onStep()
  }

  async #renew(view: ClusterView): Promise<void> {
    const passed = this.#passedBarriers?.update(view.barriers) ?? this.#joinedAt
    const value = renewalFormat.encode({ count: ++this.#renewals, passed })
    // No other process writes this record, so the fence is the only check.
    if (!(await this.meta.commit({ checks: [], writes: [{ key: clusterKey.renewal(this.id), value }] }))) return
    this.#renewedAt = this.#clock.elapsed()
  }

  async #raiseBarriers({ barriers, barrierEntry }: ClusterView): Promise<void> {
    const kinds = new Set(this.#unnumbered.keys())
    const next = raised(barriers, kinds)
    const isRaised = await this.meta.commit({
      checks: [{ key: clusterKey.barrier(), stamp: barrierEntry?.stamp }],
      writes: [{ key: clusterKey.barrier(), value: barrierFormat.encode(next) }],
    })
    // Another member was faster: the next step tries again.
    if (!isRaised) return
    for (const kind of kinds) {
      const barrier = this.#unnumbered.get(kind)!
      this.#unnumbered.delete(kind)
      barrier.numbered(next[kind])
      this.#pending.add(barrier)
    }
  }

  async #lead(view: ClusterView, dead: ReadonlySet<string>): Promise<void> {
    const leader = view.leader?.member.toString('hex')
    if (leader !== this.#name) {
      this.#leaderFence = undefined
      const isGone = leader === undefined || !view.members.has(leader) || dead.has(leader)
      if (isGone) await this.#takeOver(view, dead)
      return
    }
    if (this.#leaderFence?.stamp !== view.leader?.entry.stamp) {
      this.#leaderFence = { ...leaderCheck(view), lost: () => new LeadershipLost() }
    }
    for (const id of dead) if (id !== this.#name) await this.#expelDead(view.members.get(id)!)
  }

  /** A dead leader is expelled in the commit that replaces it. */
  async #takeOver(view: ClusterView, dead: ReadonlySet<string>): Promise<void> {
    const { leader } = view
    const old = leader && view.members.get(leader.member.toString('hex'))
    const isDead = old !== undefined && dead.has(old.id.toString('hex'))
    const value = leaderFormat.encode({ member: this.id, term: (leader?.term ?? 0) + 1 })
    await this.meta.commit({
      checks: [leaderCheck(view), ...(isDead ? [renewalCheck(old)] : [])],
      writes: [{ key: clusterKey.leader(), value }, ...(isDead ? removalOf(old) : [])],
    })
  }

  async #expelDead(member: SeenMember): Promise<void> {
    const { leaderMeta } = this
    if (leaderMeta === undefined) return
    try {
      await leaderMeta.commit({ checks: [renewalCheck(member)], writes: removalOf(member) })
    } catch (error) {
      if (!(error instanceof LeadershipLost)) throw error
      this.#leaderFence = undefined
    }
  }

  /** Leaves on purpose, so that other members need not wait for its renewals to stop. */
  async leave(): Promise<void> {
    const view = await readCluster(this.meta)
    const isLeader = view.leader?.member.equals(this.id) === true
    await this.meta.commit({
      checks: [],
      writes: [
        { key: clusterKey.member(this.id), value: undefined },
        { key: clusterKey.renewal(this.id), value: undefined },
        ...(isLeader ? [{ key: clusterKey.leader(), value: undefined }] : []),
      ],
    })
  }
}

const leaderCheck = ({ leader }: ClusterView) => ({ key: clusterKey.leader(), stamp: leader?.entry.stamp })

/** Fails when the member has renewed since the view was read. */
const renewalCheck = ({ id, renewalEntry }: SeenMember) => ({ key: clusterKey.renewal(id), stamp: renewalEntry.stamp })

const removalOf = ({ id }: SeenMember): Write[] => [
  { key: clusterKey.member(id), value: undefined },
  { key: clusterKey.renewal(id), value: undefined },
]

/** Removes a member whether or not it renews: by an operator, or by a server that knows it to be dead. */
export async function expel(meta: Meta, member: SeenMember): Promise<boolean> {
  const check = { key: clusterKey.member(member.id), stamp: member.entry.stamp }
  return meta.commit({ checks: [check], writes: removalOf(member) })
}

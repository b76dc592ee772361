/** A simulated gateway: the real store, membership and maintenance over the network of one machine. */
import { openBlobs } from '../../src/blobs/file-blobs.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { keyringInFolder } from '../../src/crypto/keyring-file.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { Ids, WRITER_BYTES } from '../../src/lib/ids.ts'
import type { MemoryDisk } from '../../src/lib/memory-disk.ts'
import type { Random } from '../../src/lib/random.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import type { Meta } from '../../src/meta/meta.ts'
import { ClusterPeers } from '../../src/store/cluster/cluster-peers.ts'
import { joinCluster } from '../../src/store/cluster/join.ts'
import { Expelled, type Membership } from '../../src/store/cluster/membership.ts'
import { LostRecordGuard } from '../../src/store/commit/lost-record-guard.ts'
import { NO_PEERS } from '../../src/store/reclaim/reclamation-barrier.ts'
import { Store } from '../../src/store/store.ts'
import { startUsageCounting } from '../../src/store/usage/usage-mark.ts'
import { Machine } from './machine.ts'
import type { Scheduler } from './scheduler.ts'

/** Mechanisms that a control run switches off, to show that the checks would notice. */
export interface Mechanisms {
  readonly fencing: boolean
  readonly barriers: boolean
  readonly synchronousStandby: boolean
}

export const ALL_MECHANISMS: Mechanisms = { fencing: true, barriers: true, synchronousStandby: true }

export interface SharedGround {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly meta: Meta
  readonly disk: MemoryDisk
  readonly mechanisms: Mechanisms
}

export const BLOBS = '/shared/blobs'
export const KEYS = '/shared'
/** Low limits, so that few bytes reach every kind of storage. */
export const LIMITS = { packedBytesMax: 16 * 1024, volumeBytesMax: 64 * 1024, reserveBytes: 0 }

const TIMING = { renewMs: 500, expelMs: 4_000 }
const MAINTENANCE_MS = 300
const CLOCK_OFFSET_MS = 2_000
const CLOCK_RATE = 0.02

export class Gateway {
  readonly machine: Machine
  readonly store: Store
  readonly membership: Membership
  readonly #clock: Clock
  isExpelled = false

  private constructor(machine: Machine, clock: Clock, store: Store, membership: Membership) {
    this.machine = machine
    this.#clock = clock
    this.store = store
    this.membership = membership
  }

  get isServing(): boolean {
    return !this.machine.isDead && !this.isExpelled
  }

  static async start(ground: SharedGround): Promise<Gateway> {
    const { scheduler, random, mechanisms } = ground
    const machine = new Machine(scheduler, random)
    const around = (range: number): number => (random.fraction() * 2 - 1) * range
    const clock = scheduler.clock(around(CLOCK_OFFSET_MS), 1 + around(CLOCK_RATE), () => machine.awake())
    const [meta, disk] = [machine.meta(ground.meta), machine.disk(ground.disk)]
    const ids = new Ids(random, random.bytes(WRITER_BYTES))
    const { membership, incarnation, isFirst } = await joinCluster({
      meta,
      clock,
      random,
      timing: TIMING,
      id: ids.writer,
      member: { address: ids.writer.toString('hex'), version: 'simulated', isExclusive: false, socket: '' },
      isKnownDead: async () => false,
    })
    const others = new ClusterPeers(membership, NO_PEERS, false)
    const keyring = await Keyring.open({ storage: keyringInFolder(ground.disk, KEYS), random })
    const blobs = await openBlobs({ disk, folder: BLOBS, writer: ids.writer, ...LIMITS })
    const store = Store.open({
      meta: mechanisms.fencing ? membership.meta : meta,
      ...{ blobs, keyring, clock, random, ids, incarnation },
      others: mechanisms.barriers ? others : { ...NO_PEERS, writers: () => others.writers() },
    })
    others.serve(store.context, () => {})
    if (isFirst) await startUsageCounting(store.context, incarnation)
    const gateway = new Gateway(machine, clock, store, membership)
    void gateway.#renew()
    void gateway.#maintain(mechanisms)
    return gateway
  }

  async #renew(): Promise<void> {
    while (!this.machine.isDead) {
      try {
        await this.membership.step()
      } catch (error) {
        if (error instanceof Expelled) {
          this.isExpelled = true
          return
        }
      }
      await this.#clock.sleep(TIMING.renewMs)
    }
  }

  async #maintain({ fencing }: Mechanisms): Promise<void> {
    while (this.isServing) {
      const leading = this.membership.leaderMeta
      if (leading !== undefined) await this.#lead(fencing ? leading : this.store.context.meta)
      await this.#clock.sleep(MAINTENANCE_MS)
    }
  }

  /** Rounds of maintenance until another member leads. */
  async #lead(meta: Meta): Promise<void> {
    const { context } = this.store.forRequest(new LostRecordGuard(meta, this.store.context.losses))
    const tasks = [new Reclaimer(context), new Compactor(context, Number.MIN_VALUE), new Sweeper(context)]
    while (this.isServing && this.membership.leaderMeta !== undefined) {
      // A step that fails is taken again later, as by a server.
      for (const task of tasks) await task.step().catch(() => {})
      await this.#clock.sleep(MAINTENANCE_MS)
    }
  }
}

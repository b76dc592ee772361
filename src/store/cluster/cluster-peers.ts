/**
 * The other processes of a store whose records are in a database: the workers of this server, and the members of the
 * cluster with theirs. A server alone asks only its workers.
 */
import type { Keyring } from '../../crypto/keyring.ts'
import { workersOf } from '../commit/worker-fences.ts'
import type { Epoch, EpochKind, PeerProcesses, WriterLookup } from '../reclaim/reclamation-barrier.ts'
import type { StoreContext } from '../store-context.ts'
import type { LocalBarrier } from './barriers.ts'
import { type BarrierKind, readCluster } from './cluster-records.ts'
import type { Membership } from './membership.ts'

export class ClusterPeers implements PeerProcesses {
  readonly #membership: Membership
  readonly #workers: PeerProcesses
  readonly #isAlone: boolean

  constructor(membership: Membership, workers: PeerProcesses, isAlone: boolean) {
    this.#membership = membership
    this.#workers = workers
    this.#isAlone = isAlone
  }

  /** Lets other members wait for what is active here. `onFailure` must end this server: it has outdated keys. */
  serve(context: StoreContext, onFailure: (error: unknown) => void): void {
    const { reclamationLock } = context
    this.#membership.serve({
      see: ({ isHeld }) => reclamationLock.holdRemotely(isHeld),
      begin: kind => this.#begin(kind, context, onFailure),
    })
  }

  #begin(kind: BarrierKind, context: StoreContext, onFailure: (error: unknown) => void): LocalBarrier {
    if (kind === 'holds') return { hasPassed: () => !context.reclamationLock.isFreeing }
    if (kind === 'keys') return this.#reloaded(context.keyring, onFailure)
    const tracker = context[kind]
    const local = tracker.current()
    const workers = this.#workers.epoch(kind)
    return { hasPassed: () => tracker.hasPassed(local) && workers.hasPassed() }
  }

  #reloaded(keyring: Keyring, onFailure: (error: unknown) => void): LocalBarrier {
    let isDone = false
    keyring
      .reload()
      .then(() => this.#workers.reloadKeys())
      .then(() => {
        isDone = true
      }, onFailure)
    return { hasPassed: () => isDone }
  }

  epoch(of: EpochKind): Epoch {
    return this.#isAlone ? this.#workers.epoch(of) : this.#membership.raiseBarrier(of)
  }

  async writers(): Promise<WriterLookup> {
    if (this.#isAlone) return this.#workers.writers()
    const { meta } = this.#membership
    const { members } = await readCluster(meta)
    const workers = await workersOf(meta, id => members.has(id.toString('hex')))
    const alive = new Set([...members.keys(), ...workers.map(writer => writer.toString('hex'))])
    return writer => alive.has(writer.toString('hex'))
  }

  /** The leader may be any member, now or later: all of them pass the barrier after they have seen the hold. */
  async holdReclamation(): Promise<() => void> {
    if (this.#isAlone) return this.#workers.holdReclamation()
    const release = await this.#membership.hold()
    await this.#membership.raiseBarrier('holds').passed
    return release
  }

  reloadKeys(): Promise<void> {
    return this.#isAlone ? this.#workers.reloadKeys() : this.#membership.raiseBarrier('keys').passed
  }

  /** Only engines on a local disk record losses. */
  reloadFindings(): Promise<void> {
    return this.#workers.reloadFindings()
  }
}

/**
 * Judges members by whether their renewal changed while this process watched, on its own monotonic clock: clocks of two
 * machines are never compared. A pause of this process, or of the metadata, does not count against others.
 */
import type { Stamp } from '../../meta/meta.ts'
import type { ClusterView } from './cluster-records.ts'

interface Watched {
  readonly stamp: Stamp
  /** When this stamp was first seen without a gap since. */
  readonly since: number
}

export interface ClusterTiming {
  /** Interval of renewals. */
  readonly renewMs: number
  /** A member that was not seen to renew for this long is expelled. */
  readonly expelMs: number
}

/** A watcher that looked away for this many intervals has seen nothing of them. */
const GAP_INTERVALS_MAX = 3

export class Liveness {
  readonly #timing: ClusterTiming
  #watched = new Map<string, Watched>()
  #lastLook: number | undefined

  constructor(timing: ClusterTiming) {
    this.#timing = timing
  }

  /** Called with every view; returns the ids of members that must be considered dead. */
  observe({ members }: ClusterView, elapsed: number): ReadonlySet<string> {
    const isGap = this.#lastLook === undefined || elapsed - this.#lastLook > GAP_INTERVALS_MAX * this.#timing.renewMs
    this.#lastLook = elapsed
    const watched = new Map<string, Watched>()
    const dead = new Set<string>()
    for (const [id, { renewalEntry }] of members) {
      const before = this.#watched.get(id)
      const isSame = !isGap && before !== undefined && before.stamp === renewalEntry.stamp
      const since = isSame ? before.since : elapsed
      watched.set(id, { stamp: renewalEntry.stamp, since })
      if (elapsed - since >= this.#timing.expelMs) dead.add(id)
    }
    this.#watched = watched
    return dead
  }

  /** How long ago this member was seen to renew; undefined for one never seen. */
  silenceMs(id: string, elapsed: number): number | undefined {
    const watched = this.#watched.get(id)
    return watched && elapsed - watched.since
  }
}

/**
 * Decides when to compact. Every minute live blobs are moved out of mostly dead volumes. Between two such rounds,
 * volumes that are wholly dead are removed as soon as a volume's worth of blobs was freed: a store whose objects are
 * overwritten without a pause would otherwise fill its disk, and the page cache, with a minute's worth of dead bytes.
 * Each round surveys all blobs, of which there may be millions, so both kinds are less frequent where that takes long.
 */
import type { Clock } from '../lib/clock.ts'
import type { Compactor } from './compact.ts'
import type { MaintenanceStep } from './maintenance-step.ts'
import type { Reclaimer } from './reclaim.ts'

export const COMPACT_MS = 60_000
/** About as much as a volume holds. */
const FREED_BYTES_MIN = 256 * 2 ** 20
/** Surveys take at most a twentieth of the time. */
const REST_PER_SURVEY = 20
/** A survey that was slow once, on a cold cache or a stalled disk, does not postpone the next one for longer. */
const REST_MS_MAX = 3_600_000

export class CompactionSchedule implements MaintenanceStep {
  readonly #compactor: Pick<Compactor, 'step' | 'removeDead' | 'surveyMs'>
  readonly #reclaimer: Pick<Reclaimer, 'packedBytesFreed'>
  readonly #clock: Pick<Clock, 'elapsed'>
  /** When a whole round last found nothing more to do. */
  #compactedAt = Number.NEGATIVE_INFINITY
  #endedAt = Number.NEGATIVE_INFINITY
  /** The reclaimer's count when the last round began. */
  #freedBefore = 0

  constructor(
    compactor: Pick<Compactor, 'step' | 'removeDead' | 'surveyMs'>,
    reclaimer: Pick<Reclaimer, 'packedBytesFreed'>,
    clock: Pick<Clock, 'elapsed'>,
  ) {
    this.#compactor = compactor
    this.#reclaimer = reclaimer
    this.#clock = clock
  }

  isDue(): boolean {
    const now = this.#clock.elapsed()
    if (now - this.#endedAt < Math.min(REST_MS_MAX, REST_PER_SURVEY * this.#compactor.surveyMs)) return false
    return this.#isWholeDue(now) || this.#reclaimer.packedBytesFreed - this.#freedBefore >= FREED_BYTES_MIN
  }

  #isWholeDue(now: number): boolean {
    return now - this.#compactedAt >= COMPACT_MS
  }

  async step(): Promise<'busy' | 'idle'> {
    if (!this.isDue()) return 'idle'
    this.#freedBefore = this.#reclaimer.packedBytesFreed
    const isWhole = this.#isWholeDue(this.#clock.elapsed())
    let state: 'busy' | 'idle' = 'idle'
    try {
      if (isWhole) state = await this.#compactor.step()
      else await this.#compactor.removeDead()
      return state
    } finally {
      this.#endedAt = this.#clock.elapsed()
      // A round that fails is not repeated before its time either.
      if (isWhole && state === 'idle') this.#compactedAt = this.#endedAt
    }
  }
}

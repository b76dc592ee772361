/**
 * Decides when to compact. Every minute live blobs are moved out of mostly dead volumes. Between two such rounds,
 * volumes that are wholly dead are removed as soon as a volume's worth of blobs was freed: a store whose objects are
 * overwritten without a pause would otherwise fill its disk, and the page cache, with a minute's worth of dead bytes.
 */
import type { Clock } from '../lib/clock.ts'
import type { Compactor } from './compact.ts'
import type { MaintenanceStep } from './maintenance-step.ts'
import type { Reclaimer } from './reclaim.ts'

export const COMPACT_MS = 60_000
/** About as much as a volume holds. */
const FREED_BYTES_MIN = 256 * 2 ** 20
/** A round reads the record of every blob. Between two minutes that takes at most a twentieth of the time. */
const REST_PER_READING = 20

export class CompactionSchedule implements MaintenanceStep {
  readonly #compactor: Pick<Compactor, 'step' | 'removeDead' | 'readingMs'>
  readonly #reclaimer: Pick<Reclaimer, 'packedBytesFreed'>
  readonly #clock: Pick<Clock, 'elapsed'>
  #compactedAt = Number.NEGATIVE_INFINITY
  #endedAt = 0
  /** What the reclaimer had freed when the last round began. */
  #freedBefore = 0

  constructor(
    compactor: Pick<Compactor, 'step' | 'removeDead' | 'readingMs'>,
    reclaimer: Pick<Reclaimer, 'packedBytesFreed'>,
    clock: Pick<Clock, 'elapsed'>,
  ) {
    this.#compactor = compactor
    this.#reclaimer = reclaimer
    this.#clock = clock
  }

  /** True when dead volumes should be removed before the next minute is over. */
  isDue(): boolean {
    if (this.#reclaimer.packedBytesFreed - this.#freedBefore < FREED_BYTES_MIN) return false
    return this.#clock.elapsed() - this.#endedAt >= REST_PER_READING * this.#compactor.readingMs
  }

  async step(): Promise<'busy' | 'idle'> {
    this.#freedBefore = this.#reclaimer.packedBytesFreed
    const now = this.#clock.elapsed()
    try {
      if (now - this.#compactedAt < COMPACT_MS) {
        await this.#compactor.removeDead()
        return 'idle'
      }
      const state = await this.#compactor.step()
      if (state === 'idle') this.#compactedAt = now
      return state
    } finally {
      this.#endedAt = this.#clock.elapsed()
    }
  }
}

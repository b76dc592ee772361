/**
 * Compares the clock of this machine with the database's, which all gateways share: before a server joins, and while it
 * serves. Once it serves it is not stopped, since the database's clock may be the wrong one, and then every gateway
 * would stop at once.
 */
import type { Clock } from '../lib/clock.ts'
import { type ClockOffset, measureClockOffset } from '../lib/clock-offset.ts'
import type { Meta } from '../meta/meta.ts'
import { CLOCK_ADVICE, type ClockFitness, clockOffsetText, judgeClockOffset } from '../rules/clock-offset.ts'

const READINGS = 5
const INTERVAL_MS = 30_000

export class ClockRefused extends Error {
  constructor(offset: ClockOffset) {
    super(`${clockOffsetText(offset)}, too far for a server to join: ${CLOCK_ADVICE}, then start again`)
    this.name = 'ClockRefused'
  }
}

export type OnReport = (level: 'info' | 'warn' | 'error', text: string) => void

const LEVELS = { good: 'info', odd: 'warn', bad: 'error' } as const

export class ClockWatch {
  readonly #meta: Meta
  readonly #clock: Clock
  readonly #report: OnReport
  #state: ClockFitness = 'good'
  #measuredAt = 0
  #offset: ClockOffset | undefined
  #isLooking = false

  constructor(meta: Meta, clock: Clock, report: OnReport) {
    this.#meta = meta
    this.#clock = clock
    this.#report = report
  }

  /** As last measured; undefined for an engine without a clock of its own. */
  get aheadMs(): number | undefined {
    return this.#offset?.aheadMs
  }

  /** Rejects with `ClockRefused` when the clocks are too far apart. */
  async assertFit(): Promise<void> {
    const offset = await this.#measure()
    if (offset === undefined) return
    if (judgeClockOffset(offset) === 'bad') throw new ClockRefused(offset)
    this.#note(offset)
  }

  /** Called with every renewal; measures again when it is time to. Never rejects. */
  async look(): Promise<void> {
    if (this.#isLooking || this.#clock.elapsed() - this.#measuredAt < INTERVAL_MS) return
    this.#isLooking = true
    // A database that cannot be asked is reported by the renewals.
    const offset = await this.#measure().catch(() => undefined)
    if (offset !== undefined) this.#note(offset)
    this.#isLooking = false
  }

  async #measure(): Promise<ClockOffset | undefined> {
    const serverTime = this.#meta.remote?.serverTime
    if (serverTime === undefined || this.#clock.isSetOnPurpose === true) return undefined
    this.#measuredAt = this.#clock.elapsed()
    return measureClockOffset(this.#clock, serverTime, READINGS)
  }

  #note(offset: ClockOffset): void {
    const state = judgeClockOffset(offset)
    if (state !== this.#state) {
      const advice = state === 'good' ? '' : `: ${CLOCK_ADVICE}`
      this.#report(LEVELS[state], `${clockOffsetText(offset)}${advice}`)
    }
    this.#state = state
    this.#offset = offset
  }
}

/**
 * The clock of an embedded store: the system clock plus the offset that the test has set. Sleeps use real time whatever
 * the offset.
 */
import { type Clock, systemClock } from '../lib/clock.ts'
import type { HoldfastClock, Span } from './api.ts'
import { checkMoment, checkSpan } from './check-options.ts'

const UNIT_MS: Readonly<Record<keyof Span, number>> = {
  days: 86_400_000,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1_000,
  milliseconds: 1,
}

function millisecondsOf(span: Span): number {
  checkSpan(span)
  let sum = 0
  for (const [unit, count] of Object.entries(span)) {
    sum += (count ?? 0) * UNIT_MS[unit as keyof Span]
  }
  return Math.round(sum)
}

export class MovedClock implements Clock {
  readonly isSetOnPurpose = true
  #offsetMs = 0
  #passed = 0
  #seen = 0

  now(): number {
    return systemClock.now() + this.#offsetMs
  }

  /** A test that moves the clock forward means that time has passed for locks too; backward, none has. */
  elapsed(): number {
    const now = this.now()
    this.#passed += Math.max(0, now - this.#seen)
    this.#seen = now
    return this.#passed
  }

  sleep(ms: number): Promise<void> {
    return systemClock.sleep(ms)
  }

  after(ms: number, call: () => void): () => void {
    return systemClock.after(ms, call)
  }

  move(ms: number): void {
    this.elapsed()
    this.#offsetMs += ms
    this.elapsed()
  }

  /**
   * Clients sign with the time of this process, which a test may have mocked, or with the real time, which responses
   * still carry.
   */
  clientTimes(): readonly number[] {
    return [systemClock.now(), performance.timeOrigin + systemClock.elapsed()]
  }

  /** The public interface. */
  handle(): HoldfastClock {
    return {
      now: () => new Date(this.now()),
      advance: span => this.move(millisecondsOf(span)),
      set: moment => {
        checkMoment(moment)
        this.move(new Date(moment).getTime() - this.now())
      },
      reset: () => this.move(-this.#offsetMs),
    }
  }
}

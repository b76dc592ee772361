/** Counts failed proofs of who asks, by address: whoever guesses gets no further guesses for a while. */
import type { Clock } from '../lib/clock.ts'

const WINDOW_MS = 60_000
const FAILURES_MAX = 30
/** Of addresses that are remembered; the oldest give way. */
const ADDRESSES_MAX = 10_000

export class Attempts {
  readonly #clock: Clock
  readonly #failed = new Map<string, { count: number; readonly since: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Seconds until this address may try again; 0 when it may now. */
  waitSeconds(address: string): number {
    const known = this.#failed.get(address)
    if (known === undefined || known.count < FAILURES_MAX) return 0
    return Math.max(0, Math.ceil((known.since + WINDOW_MS - this.#clock.now()) / 1000))
  }

  failed(address: string): void {
    const known = this.#failed.get(address)
    if (known !== undefined && known.since + WINDOW_MS > this.#clock.now()) {
      known.count++
      return
    }
    this.#failed.delete(address)
    if (this.#failed.size >= ADDRESSES_MAX) this.#failed.delete(this.#failed.keys().next().value!)
    this.#failed.set(address, { count: 1, since: this.#clock.now() })
  }
}

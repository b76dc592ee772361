/** Reports that the database is unavailable: at once, and repeatedly while it lasts. */
import type { Clock } from '../../lib/clock.ts'

/** A server that refuses connections is reported at once; a silent one after this. */
const SILENCE_MS = 1_000
const REPEAT_MS = 5_000

export interface OutageState {
  /** HOST:PORT of all servers tried, without secrets. */
  readonly at: string
  /** The last error. */
  readonly why: string
  readonly waitedMs: number
  readonly waitsMsMax: number
}

export function outageText({ at, why, waitedMs, waitsMsMax }: OutageState): string {
  const [waited, most] = [waitedMs, waitsMsMax].map(ms => Math.round(ms / 1000))
  return `Waiting for PostgreSQL at ${at} (${why}), ${waited} of at most ${most} s.`
}

export type OnOutage = (waiting: OutageState) => void

/** An error of several addresses of one host has no message of its own. */
export function whyOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return whyOf(error.errors.at(-1))
  const { message, code } = error as NodeJS.ErrnoException
  return message || code || String(error)
}

interface Search {
  readonly at: string
  readonly waitsMsMax: number
}

/** Shared by concurrent searches, which wait for the same server. */
export class OutageNotice {
  readonly #clock: Clock
  readonly #search: Search
  readonly #onWait: OnOutage
  #searching = 0
  #since = 0
  #why = 'no answer'
  #isReported = false
  #cancel = (): void => {}

  constructor(clock: Clock, search: Search, onWait: OnOutage) {
    this.#clock = clock
    this.#search = search
    this.#onWait = onWait
  }

  begin(): void {
    if (this.#searching++ > 0) return
    this.#since = this.#clock.elapsed()
    this.#why = 'no answer'
    this.#isReported = false
    this.#cancel = this.#clock.after(SILENCE_MS, () => this.#report())
  }

  failed(error: unknown): void {
    this.#why = whyOf(error)
    if (!this.#isReported) this.#report()
  }

  end(): void {
    if (--this.#searching === 0) this.#cancel()
  }

  #report(): void {
    this.#isReported = true
    this.#cancel()
    this.#cancel = this.#clock.after(REPEAT_MS, () => this.#report())
    this.#onWait({ ...this.#search, why: this.#why, waitedMs: this.#clock.elapsed() - this.#since })
  }
}

/** Interrupts long work in a process that serves, so that requests run in between, and ends it when it is stopped. */
import type { Clock } from './clock.ts'
import type { MaybePromise } from './maybe-promise.ts'

/** A request waits at most this long and one page of records for the event loop. */
const SLICE_MS = 2
const PAUSE_MS_MAX = 20

/** The work was stopped by an administrator, or by the end of the server. */
export class Stopped extends Error {
  constructor() {
    super('stopped')
    this.name = 'Stopped'
  }
}

export class Pacer {
  readonly #clock: Clock
  readonly #signal: AbortSignal
  #since: number

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock
    this.#signal = signal
    this.#since = clock.elapsed()
  }

  /** Pauses as long as the work took, so that it uses half of a core at most. Throws `Stopped`. */
  readonly pace = (): MaybePromise<void> => {
    this.#assertRunning()
    const worked = this.#clock.elapsed() - this.#since
    if (worked >= SLICE_MS) return this.#pause(Math.min(worked, PAUSE_MS_MAX))
  }

  async #pause(ms: number): Promise<void> {
    await this.#clock.sleep(Math.ceil(ms))
    this.#since = this.#clock.elapsed()
    this.#assertRunning()
  }

  #assertRunning(): void {
    if (this.#signal.aborted) throw new Stopped()
  }
}

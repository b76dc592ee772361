/** The only source of time, passed to all code that needs it, so that tests can control it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
  /** Monotonic milliseconds since an arbitrary start; unaffected by changes of the wall clock. */
  elapsed(): number
  /** Resolves after this time on this clock; for back-off and bounded waits, never to hide a race. */
  sleep(ms: number): Promise<void>
  /** Calls back once after this time on this clock; returns a function that cancels it. */
  after(ms: number, call: () => void): () => void
  /** True for a clock under test control: its time is trusted, even when it moves back. */
  readonly isSetOnPurpose?: boolean
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: ms => new Promise(resolve => setTimeout(resolve, ms)),
  after(ms, call) {
    const timer = setTimeout(call, ms)
    return () => clearTimeout(timer)
  },
}

/** A clock that only moves on request. Sleeping advances it and runs the timers that are due. */
export class ManualClock implements Clock {
  #now: number
  #elapsed = 0
  readonly #waiting = new Set<{ readonly due: number; readonly call: () => void }>()

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  elapsed(): number {
    return this.#elapsed
  }

  async sleep(ms: number): Promise<void> {
    this.move(ms)
  }

  after(ms: number, call: () => void): () => void {
    const waiting = { due: this.#now + ms, call }
    this.#waiting.add(waiting)
    return () => void this.#waiting.delete(waiting)
  }

  /** Advances time; a negative value sets the clock back. */
  move(ms: number): void {
    this.#elapsed += Math.max(0, ms)
    this.jump(ms)
  }

  /** Sets the clock without any time passing. */
  jump(ms: number): void {
    this.#now += ms
    for (const waiting of [...this.#waiting]) {
      if (waiting.due <= this.#now && this.#waiting.delete(waiting)) waiting.call()
    }
  }
}

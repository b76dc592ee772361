/** The one source of time. Everything that needs "now" is handed a clock, so that a test can move it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
  /** Milliseconds that have really passed since some moment: whoever sets the clock does not change this. */
  elapsed(): number
  /** Resolves after this long on this clock; used for back-off and bounded waits, never to hide a race. */
  sleep(ms: number): Promise<void>
  /** Calls once this long has passed on this clock, unless what it returns is called before. */
  after(ms: number, call: () => void): () => void
  /** Somebody moves it who means it: what it says is so, also when it has gone back. */
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

/** A clock that stands still until it is moved. Sleeping moves it; what was to be called by then is called. */
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

  /** Time passes; or, backwards, somebody sets the clock back. */
  move(ms: number): void {
    this.#elapsed += Math.max(0, ms)
    this.jump(ms)
  }

  /** Somebody sets the clock, and no time passes. */
  jump(ms: number): void {
    this.#now += ms
    for (const waiting of [...this.#waiting]) {
      if (waiting.due <= this.#now && this.#waiting.delete(waiting)) waiting.call()
    }
  }
}

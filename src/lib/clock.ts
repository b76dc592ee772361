/** The one source of time. Everything that needs "now" is handed a clock, so that a test can move it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
  /** Resolves after this long on this clock; used for back-off and bounded waits, never to hide a race. */
  sleep(ms: number): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: ms => new Promise(resolve => setTimeout(resolve, ms)),
}

/** A clock that stands still until it is moved. Sleeping moves it. */
export class ManualClock implements Clock {
  #now: number

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  async sleep(ms: number): Promise<void> {
    this.#now += ms
  }

  move(ms: number): void {
    this.#now += ms
  }
}

/** Delay of the event loop over fixed windows, so that a reader does not shorten the window of another. */
import type { IntervalHistogram } from 'node:perf_hooks'

/** A scrape at least once in this time misses no delay. */
export const DELAY_WINDOW_MS = 60_000

/** In nanoseconds. */
interface DelayPoints {
  readonly median: number
  readonly percentile99: number
  readonly max: number
}

type DelayHistogram = Pick<IntervalHistogram, 'percentile' | 'max' | 'reset'>

export class EventLoopDelay {
  readonly #histogram: DelayHistogram
  /** The last complete window; undefined if nothing was measured in it. */
  #before: DelayPoints | undefined

  constructor(histogram: DelayHistogram) {
    this.#histogram = histogram
  }

  /** Begins the next window. One step; a timer calls it. */
  rotate(): void {
    this.#before = this.#current()
    this.#histogram.reset()
  }

  /** The worse of the current window and the one before it; undefined if nothing was measured in either. */
  points(): DelayPoints | undefined {
    const [current, before] = [this.#current(), this.#before]
    if (current === undefined || before === undefined) return current ?? before
    return {
      median: Math.max(current.median, before.median),
      percentile99: Math.max(current.percentile99, before.percentile99),
      max: Math.max(current.max, before.max),
    }
  }

  #current(): DelayPoints | undefined {
    const { max } = this.#histogram
    if (max === 0) return undefined
    return { median: this.#histogram.percentile(50), percentile99: this.#histogram.percentile(99), max }
  }
}

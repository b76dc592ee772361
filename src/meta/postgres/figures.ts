/** Figures for operators about the way to the database and back. */
import { BucketCounts } from '../../lib/bucket-counts.ts'
import type { RemoteFigures, RoundTrip } from '../meta.ts'

const SECONDS = [0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]

export class PostgresFigures implements RemoteFigures {
  readonly roundTripSeconds: Readonly<Record<RoundTrip, BucketCounts>> = {
    get: new BucketCounts(SECONDS),
    scan: new BucketCounts(SECONDS),
    commit: new BucketCounts(SECONDS),
  }
  readonly batchSizes: Readonly<Record<'get' | 'commit', BucketCounts>> = {
    get: new BucketCounts(SIZES),
    commit: new BucketCounts(SIZES),
  }
  connects = 0
  failedSearches = 0
  connectionsWanted = 0
  readonly #countOpen: () => number

  constructor(countOpen: () => number) {
    this.#countOpen = countOpen
  }

  get connectionsOpen(): number {
    return this.#countOpen()
  }

  async timed<T>(kind: RoundTrip, query: () => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    try {
      return await query()
    } finally {
      this.roundTripSeconds[kind].observe((performance.now() - startedAt) / 1000)
    }
  }
}

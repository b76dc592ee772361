/** Counts values by upper bounds, by a few additions per value and without allocations. */
export class BucketCounts {
  /** In ascending order; greater values are counted after the last. */
  readonly bounds: readonly number[]
  readonly counts: Float64Array
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    let at = 0
    while (at < this.bounds.length && value > this.bounds[at]!) at++
    this.counts[at]!++
    this.sum += value
  }
}

/** Rates and changes between two readings of the metrics. */
import type { AdminApi } from '../api/admin-api.ts'

export type Reading = AdminApi['GetMetricSamples']['output']
export type Sample = Reading['samples'][number]

const seriesOf = ({ name, labels }: Sample): string => name + JSON.stringify(labels)

/** How much each counter has grown. A counter that is smaller than before has started again at zero. */
export function increases(before: Reading, now: Reading): Sample[] {
  const earlier = new Map(before.samples.map(sample => [seriesOf(sample), sample.value]))
  return now.samples.map(sample => {
    const from = earlier.get(seriesOf(sample)) ?? 0
    return { ...sample, value: sample.value < from ? sample.value : sample.value - from }
  })
}

interface HistogramBucket {
  /** Infinity for the last one. */
  readonly upTo: number
  /** Of this bucket and all below it. */
  readonly count: number
}

/** One histogram, summed over all labels but the bounds. */
export function histogramOf(samples: readonly Sample[], name: string): HistogramBucket[] {
  const counts = new Map<number, number>()
  for (const { name: own, labels, value } of samples) {
    if (own !== `${name}_bucket`) continue
    const upTo = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)
    counts.set(upTo, (counts.get(upTo) ?? 0) + value)
  }
  return [...counts].map(([upTo, count]) => ({ upTo, count })).sort((a, b) => a.upTo - b.upTo)
}

/**
 * The value that this share of all observations does not exceed, as if they were spread evenly within their bucket.
 * Null without observations. Beyond the last bound nothing is known but the bound.
 */
export function percentile(histogram: readonly HistogramBucket[], share: number): number | null {
  const total = histogram.at(-1)?.count ?? 0
  if (total <= 0) return null
  const rank = share * total
  let below: HistogramBucket = { upTo: 0, count: 0 }
  for (const bucket of histogram) {
    if (bucket.count >= rank && bucket.count > below.count) {
      if (bucket.upTo === Number.POSITIVE_INFINITY) return below.upTo
      return below.upTo + ((bucket.upTo - below.upTo) * (rank - below.count)) / (bucket.count - below.count)
    }
    below = bucket
  }
  return below.upTo
}

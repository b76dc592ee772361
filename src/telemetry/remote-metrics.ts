/** Metrics of a metadata engine behind a network, as this process uses it. */
import type { StoreContext } from '../store/store-context.ts'
import type { Sample } from './families.ts'
import { histogramSamples } from './families.ts'

/** Nothing where the metadata are local. */
export function remoteMetrics({ meta }: Pick<StoreContext, 'meta'>): Sample[] {
  const figures = meta.remote?.figures
  if (figures === undefined) return []
  return [
    ...Object.entries(figures.roundTripSeconds).flatMap(([kind, counts]) =>
      histogramSamples('holdfast_postgres_round_trip_seconds', { kind }, counts),
    ),
    ...Object.entries(figures.batchSizes).flatMap(([kind, counts]) =>
      histogramSamples('holdfast_postgres_batch_size', { kind }, counts),
    ),
    ['holdfast_postgres_connections', '', figures.connectionsOpen],
    ['holdfast_postgres_connections_wanted', '', figures.connectionsWanted],
    ['holdfast_postgres_connects_total', '', figures.connects],
    ['holdfast_postgres_failed_searches_total', '', figures.failedSearches],
  ]
}

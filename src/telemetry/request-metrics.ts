/** Request metrics, by a few additions per request and without allocations. */

import type { ExchangeRecord } from '../edge/exchange.ts'
import type { RequestState } from '../edge/request-state.ts'
import { BucketCounts } from '../lib/bucket-counts.ts'
import { type FamilyName, labelled, type Sample } from './families.ts'

/** Upper bounds in seconds, followed by +Inf. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const

export function histogramSamples(
  family: FamilyName,
  labels: Readonly<Record<string, string>>,
  { bounds, counts, sum }: BucketCounts,
): Sample[] {
  const out: Sample[] = []
  let total = 0
  for (const [at, count] of counts.entries()) {
    total += count
    const le = at === bounds.length ? '+Inf' : String(bounds[at])
    out.push([family, `_bucket${labelled({ ...labels, le })}`, total])
  }
  const shown = labelled(labels)
  out.push([family, `_sum${shown}`, sum], [family, `_count${shown}`, total])
  return out
}

class OperationMetrics {
  readonly responseStart = new BucketCounts(BOUNDS)
  readonly request = new BucketCounts(BOUNDS)
  /** Requests by code and status. */
  readonly codes = new Map<string, Map<number, number>>()
  received = 0
  sent = 0

  count(code: string, status: number): void {
    let byStatus = this.codes.get(code)
    if (byStatus === undefined) {
      byStatus = new Map()
      this.codes.set(code, byStatus)
    }
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
  }

  samples(labels: { readonly operation: string; readonly dialect: string }): Sample[] {
    const out: Sample[] = []
    for (const [code, byStatus] of this.codes) {
      for (const [status, count] of byStatus) {
        const shown = labelled({ ...labels, status: String(status), code })
        out.push(['holdfast_requests_total', shown, count])
      }
    }
    const shown = labelled(labels)
    return [
      ...out,
      ...histogramSamples('holdfast_response_start_seconds', labels, this.responseStart),
      ...histogramSamples('holdfast_request_seconds', labels, this.request),
      ['holdfast_received_bytes_total', shown, this.received],
      ['holdfast_sent_bytes_total', shown, this.sent],
    ]
  }
}

/** Request kinds that are not in the operation list. */
const OTHERS = ['Preflight', 'Website'] as const
const UNKNOWN = 'unknown'

export class RequestMetrics {
  /** By dialect, then by operation. All names are fixed in advance, so that clients cannot create series. */
  readonly #byDialect = new Map<string, Map<string, OperationMetrics>>()
  #inFlight = 0

  constructor(operations: readonly string[], dialects: readonly string[]) {
    const names = [...operations, ...OTHERS, UNKNOWN]
    for (const dialect of dialects) {
      this.#byDialect.set(dialect, new Map(names.map(name => [name, new OperationMetrics()])))
    }
  }

  begun(): void {
    this.#inFlight++
  }

  left(): void {
    this.#inFlight--
  }

  ended({ operationName, dialect, code }: RequestState, exchange: ExchangeRecord): void {
    const byName = this.#byDialect.get(dialect.name)!
    const counted = byName.get(operationName) ?? byName.get(UNKNOWN)!
    counted.count(code, exchange.status)
    counted.responseStart.observe(exchange.milliseconds / 1000)
    counted.request.observe(exchange.totalMilliseconds / 1000)
    counted.received += exchange.receivedBytes
    counted.sent += exchange.sentBytes
  }

  samples(): Sample[] {
    const out: Sample[] = [['holdfast_requests_in_flight', '', this.#inFlight]]
    for (const [dialect, byName] of this.#byDialect) {
      for (const [operation, counted] of byName) {
        if (counted.codes.size > 0) out.push(...counted.samples({ operation, dialect }))
      }
    }
    return out
  }
}

/** One point of every plot, from two readings of the metrics. */
import { histogramOf, increases, percentile, type Reading, type Sample } from './counters.ts'

export interface Point {
  /** Seconds since 1970, by the server's clock. */
  readonly time: number
  /** Seconds since the point before it. */
  readonly seconds: number
  /** By the id of their series; null where there is nothing to show. */
  readonly values: Readonly<Record<string, number | null>>
}

const READS = ['GetObject', 'HeadObject', 'GetObjectAttributes', 'Website']
const WRITES = ['PutObject', 'PostObject', 'CopyObject', 'UploadPart', 'UploadPartCopy']
const UPLOADS = ['CreateMultipartUpload', 'CompleteMultipartUpload']

const REQUEST_KINDS = ['read', 'write', 'list', 'delete', 'other'] as const

export function kindOf(operation: string): (typeof REQUEST_KINDS)[number] {
  if (READS.includes(operation)) return 'read'
  if (WRITES.includes(operation) || UPLOADS.includes(operation)) return 'write'
  if (operation.startsWith('List')) return 'list'
  return operation.startsWith('DeleteObject') && !operation.endsWith('Tagging') ? 'delete' : 'other'
}

const ERROR_CLASSES = ['refused', 'client', 'server'] as const

/** Undefined for a request that succeeded. */
export function errorClassOf(status: string): (typeof ERROR_CLASSES)[number] | undefined {
  if (status === '401' || status === '403') return 'refused'
  if (status.startsWith('4')) return 'client'
  return status.startsWith('5') ? 'server' : undefined
}

/** Maintenance tasks that people think of as one. */
const UPKEEP: Readonly<Record<string, string>> = {
  reclaim: 'space',
  compact: 'space',
  sweep: 'space',
  lifecycle: 'lifecycle',
  copy: 'copy',
}
const UPKEEP_KINDS = ['space', 'lifecycle', 'copy', 'other'] as const

/** Sums of one family by a part of its labels, as series `PREFIX.GROUP`. */
function sums(
  samples: readonly Sample[],
  family: string,
  seriesOf: (labels: Sample['labels']) => string | undefined,
): Record<string, number> {
  const out: Record<string, number> = {}
  for (const { name, labels, value } of samples) {
    if (name !== family) continue
    const series = seriesOf(labels)
    if (series !== undefined) out[series] = (out[series] ?? 0) + value
  }
  return out
}

const zeros = (prefix: string, groups: readonly string[]): Record<string, number> =>
  Object.fromEntries(groups.map(group => [`${prefix}.${group}`, 0]))

function counted(grown: readonly Sample[]): Record<string, number> {
  return {
    ...zeros('requests', REQUEST_KINDS),
    ...zeros('errors', ERROR_CLASSES),
    ...zeros('upkeep', UPKEEP_KINDS),
    ...sums(grown, 'holdfast_requests_total', ({ operation = '' }) => `requests.${kindOf(operation)}`),
    ...sums(grown, 'holdfast_requests_total', ({ status = '' }) => {
      const group = errorClassOf(status)
      return group === undefined ? undefined : `errors.${group}`
    }),
    ...{ 'bytes.received': 0, 'bytes.sent': 0 },
    ...sums(grown, 'holdfast_received_bytes_total', () => 'bytes.received'),
    ...sums(grown, 'holdfast_sent_bytes_total', () => 'bytes.sent'),
    ...sums(grown, 'holdfast_process_cpu_seconds_total', ({ role }) => `processor.${role}`),
    ...sums(grown, 'holdfast_maintenance_seconds_total', ({ worker = '' }) => `upkeep.${UPKEEP[worker] ?? 'other'}`),
  }
}

const PERCENTILES = { p50: 0.5, p95: 0.95, p99: 0.99 } as const

function latencies(grown: readonly Sample[]): Record<string, number | null> {
  const histogram = histogramOf(grown, 'holdfast_request_seconds')
  return Object.fromEntries(
    Object.entries(PERCENTILES).map(([name, share]) => [`latency.${name}`, percentile(histogram, share)]),
  )
}

/** The folders of one filesystem have the same figures and are shown once. */
function disks(now: readonly Sample[]): Record<string, number> {
  const sizes = sums(now, 'holdfast_filesystem_size_bytes', ({ folder }) => folder)
  const free = sums(now, 'holdfast_filesystem_free_bytes', ({ folder }) => folder)
  const isSame = sizes.blobs === sizes.data && free.blobs === free.data
  const folders = Object.keys(sizes).filter(folder => folder !== 'blobs' || !isSame)
  return Object.fromEntries(
    folders.flatMap(folder => [
      [`disk.${folder}.used`, sizes[folder]! - (free[folder] ?? 0)],
      [`disk.${folder}.free`, free[folder] ?? 0],
    ]),
  )
}

/** The first reading has only what needs no difference. Undefined when the clock did not go on. */
export function pointOf(before: Reading | undefined, now: Reading): Point | undefined {
  const time = Date.parse(now.time) / 1000
  const gauges = {
    ...sums(now.samples, 'holdfast_process_resident_bytes', ({ role }) => `memory.${role}`),
    ...disks(now.samples),
  }
  if (before === undefined) return { time, seconds: 0, values: gauges }
  const seconds = time - Date.parse(before.time) / 1000
  if (!(seconds > 0)) return undefined
  const grown = increases(before, now)
  const rates = Object.entries(counted(grown)).map(([series, count]) => [series, count / seconds])
  return { time, seconds, values: { ...Object.fromEntries(rates), ...latencies(grown), ...gauges } }
}

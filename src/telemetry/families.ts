/** All metric families: names, help texts, and how samples of several processes are merged. */
import type { BucketCounts } from '../lib/bucket-counts.ts'

interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** How samples of the same series from several processes are merged. */
  readonly merge: 'sum' | 'max'
}

const counter = (help: string): Family => ({ type: 'counter', help, merge: 'sum' })
const gauge = (help: string, merge: Family['merge'] = 'sum'): Family => ({ type: 'gauge', help, merge })
const histogram = (help: string): Family => ({ type: 'histogram', help, merge: 'sum' })

/** Usage families of one kind of subject. */
const usageFamilies = <const S extends string>(subject: S, of: string) =>
  ({
    [`holdfast_${subject}_objects`]: gauge(`Current objects of ${of}.`, 'max'),
    [`holdfast_${subject}_versions`]: gauge(`Versions that have bytes, current ones included, of ${of}.`, 'max'),
    [`holdfast_${subject}_delete_markers`]: gauge(`Delete markers of ${of}.`, 'max'),
    [`holdfast_${subject}_bytes`]: gauge(`Logical bytes of current objects of ${of}.`, 'max'),
    [`holdfast_${subject}_version_bytes`]: gauge(`Logical bytes of all versions of ${of}.`, 'max'),
    [`holdfast_${subject}_uploads`]: gauge(`Open multipart uploads of ${of}.`, 'max'),
    [`holdfast_${subject}_upload_bytes`]: gauge(`Bytes of parts of open uploads of ${of}.`, 'max'),
  }) as Record<`holdfast_${S}_${UsageSuffix}`, Family>

type UsageSuffix = 'objects' | 'versions' | 'delete_markers' | 'bytes' | 'version_bytes' | 'uploads' | 'upload_bytes'

export const METRIC_FAMILIES = {
  holdfast_info: gauge('Always 1; the labels have the version and the runtime.', 'max'),
  holdfast_ready: gauge('1 while the server can serve requests.', 'max'),
  holdfast_certificate_expiry_timestamp_seconds: gauge('When the certificate of the server expires.', 'max'),
  holdfast_requests_total: counter('Completed requests, by operation, dialect, status and code.'),
  holdfast_response_start_seconds: histogram('Time until the response was decided, before any of it was sent.'),
  holdfast_request_seconds: histogram('Time until the client had received the last byte of the response.'),
  holdfast_received_bytes_total: counter('Bytes of request bodies that were read.'),
  holdfast_sent_bytes_total: counter('Bytes of response bodies that were sent.'),
  holdfast_requests_in_flight: gauge('Requests in progress.'),
  holdfast_lock_refusals_total: counter('Deletes and changes of retention that a lock refused, also within batches.'),
  holdfast_audit_lines_total: counter('Lines written to the audit log.'),
  holdfast_audit_failures_total: counter('Lines that could not be written to the audit log.'),
  holdfast_spans_total: counter('Trace spans, by result: sent or dropped.'),
  holdfast_access_log_records_total: counter('Records of server access logs, by result: delivered or dropped.'),
  holdfast_process_start_time_seconds: gauge('When the process started; the latest of its role.', 'max'),
  holdfast_process_cpu_seconds_total: counter('Processor time used, by role of the process.'),
  holdfast_process_resident_bytes: gauge('Resident memory, by role of the process.'),
  holdfast_process_heap_bytes: gauge('Memory in use by the JavaScript heap, by role of the process.'),
  holdfast_process_external_bytes: gauge('Memory of buffers outside the heap, by role of the process.'),
  holdfast_process_open_files: gauge('Open file descriptors, by role of the process.'),
  holdfast_processes: gauge('Processes, by role.'),
  holdfast_event_loop_delay_seconds: gauge(
    'Delay of the event loop in the last one to two minutes; the worst process.',
    'max',
  ),
  holdfast_worker_restarts_total: counter('Workers that exited unexpectedly and were replaced.'),
  holdfast_workers_unresponsive_total: counter('Workers that were killed because they did not respond.'),
  holdfast_worker_silence_seconds: gauge('Age of the oldest unanswered heartbeat of a worker.', 'max'),
  holdfast_disk_full: gauge('1 while writes are refused because the disk of a folder is full.', 'max'),
  holdfast_filesystem_size_bytes: gauge('Size of the filesystem of a folder.', 'max'),
  holdfast_filesystem_free_bytes: gauge('Free bytes of the filesystem of a folder.', 'max'),
  holdfast_filesystem_files: gauge('Inodes of the filesystem of a folder.', 'max'),
  holdfast_filesystem_free_files: gauge('Free inodes of the filesystem of a folder.', 'max'),
  holdfast_filesystem_unsafe: gauge('1 for a folder whose filesystem may lose synced data.', 'max'),
  holdfast_meta_map_bytes: gauge('Address space of the metadata engine.'),
  holdfast_meta_used_bytes: gauge('High-water mark of the bytes in use of the metadata file.'),
  holdfast_meta_entries: gauge('Metadata records.'),
  holdfast_postgres_round_trip_seconds: histogram('Time of a statement to PostgreSQL, by kind: get, scan, commit.'),
  holdfast_postgres_batch_size: histogram('Keys of a batch of gets, and transactions of a batch of commits, by kind.'),
  holdfast_postgres_connections: gauge('Open connections to PostgreSQL.'),
  holdfast_postgres_connections_wanted: gauge('Connections to PostgreSQL that are being searched for.'),
  holdfast_postgres_connects_total: counter('Connections to PostgreSQL that were opened.'),
  holdfast_postgres_failed_searches_total: counter('Searches at all addresses that found no PostgreSQL primary.'),
  holdfast_meta_readers: gauge('Reader slots of the metadata engine in use.'),
  ...usageFamilies('store', 'all buckets'),
  holdfast_buckets: gauge('Buckets.', 'max'),
  holdfast_buckets_uncounted: gauge(
    'Buckets whose usage has not been counted yet; they are missing from totals.',
    'max',
  ),
  ...usageFamilies('bucket', 'a bucket; the hundred largest'),
  ...usageFamilies('account', 'the buckets of an account; the hundred largest'),
  holdfast_volumes: gauge('Volume files, sampled at most once a minute.'),
  holdfast_volume_bytes: gauge('Bytes of volume files, live and dead, sampled at most once a minute.'),
  holdfast_garbage_records: gauge('Garbage records waiting to be reclaimed; 1000 means that many or more.'),
  holdfast_maintenance_steps_total: counter('Steps of maintenance, by task.'),
  holdfast_maintenance_failures_total: counter('Steps of maintenance that failed, by task.'),
  holdfast_maintenance_seconds_total: counter('Time spent in steps of maintenance, by task.'),
  holdfast_maintenance_last_success_timestamp_seconds: gauge(
    'When the maintenance task last completed its work.',
    'max',
  ),
  holdfast_blobs_moved_total: counter('Blobs copied to their new place.'),
  holdfast_blobs_moved_bytes_total: counter('Bytes of blobs copied to their new place.'),
  holdfast_blobs_move_damaged: gauge('Blobs that the last round of a move could not read.'),
  holdfast_lifecycle_actions_total: counter('Actions of lifecycle rules: removed, marked, aborted.'),
  holdfast_lifecycle_locked: gauge('Versions that are due but locked, as of the last complete round.'),
  holdfast_cluster_members: gauge('Servers that share the database, as this one last saw them.', 'max'),
  holdfast_cluster_leads: gauge('1 while this server runs the maintenance of its cluster.'),
  holdfast_cluster_renewal_age_seconds: gauge('Time since this server last renewed its membership.', 'max'),
  holdfast_cluster_member_silence_seconds: gauge(
    'Time since this server saw a member renew; it is expelled after 12 seconds.',
    'max',
  ),
  holdfast_cluster_clock_offset_seconds: gauge(
    "How far the database's clock is ahead of this machine's; above 60 either way no server joins.",
    'max',
  ),
  holdfast_cluster_mount_late_total: counter('Checks that did not immediately see what another gateway had synced.'),
  holdfast_scrub_running: gauge('1 while a scrub round is running.'),
  holdfast_scrub_records: gauge('Records read by the last scrub round.'),
  holdfast_scrub_bytes: gauge('Bytes read by the last scrub round.'),
  holdfast_scrub_damaged: gauge('Damage found by the last scrub round.'),
  holdfast_fsck_running: gauge('1 while a full check is running.'),
  holdfast_fsck_findings: gauge('Problems and damage found by the last full check.'),
  holdfast_meta_copy_findings: gauge(
    'Metadata records that the second copy has and the engine lost; run holdfast rebuild.',
  ),
  holdfast_meta_copy_rows: gauge('Metadata records read by the last comparison with the second copy.'),
  holdfast_meta_copy_snapshot_timestamp_seconds: gauge('When the last snapshot of the metadata was finished.', 'max'),
  holdfast_meta_copy_journal_bytes: gauge('Bytes of journals of the second copy, sampled twice a minute.'),
  holdfast_meta_copy_unwritten_commits: gauge('Commits that journals lack, as of the last comparison.'),
} as const satisfies Readonly<Record<string, Family>>

export type FamilyName = keyof typeof METRIC_FAMILIES

/** A sample of a family; `series` is its suffix and labels in the exposition format. */
export type Sample = readonly [family: FamilyName, series: string, value: number]

const escaped = (value: string): string => value.replace(/[\\"\n]/g, c => (c === '\n' ? '\\n' : `\\${c}`))

export function labelled(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

/** The series of a histogram: cumulative buckets, sum and count. */
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

/** Merges the samples of several processes. */
export function mergeSamples(samples: Iterable<Sample>): Sample[] {
  const out = new Map<string, [FamilyName, string, number]>()
  for (const [family, series, value] of samples) {
    const key = family + series
    const before = out.get(key)
    if (before === undefined) out.set(key, [family, series, value])
    else before[2] = METRIC_FAMILIES[family].merge === 'max' ? Math.max(before[2], value) : before[2] + value
  }
  return [...out.values()]
}

/** The samples of an exited process that still count: counters, but not gauges. */
export const cumulativeSamples = (samples: readonly Sample[]): Sample[] =>
  samples.filter(([family]) => METRIC_FAMILIES[family].type !== 'gauge')

/** False for series that name buckets or accounts. */
export const isPublicFamily = ([family]: Sample): boolean => !/^holdfast_(bucket|account)_/.test(family)

/** The Prometheus text format: each family with its help and type, followed by its series. */
export function exposition(samples: readonly Sample[]): string {
  const lines: string[] = []
  for (const [name, { type, help }] of Object.entries(METRIC_FAMILIES)) {
    const own = samples.filter(([family]) => family === name)
    if (own.length === 0) continue
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
    for (const [, series, value] of own) lines.push(`${name}${series} ${value}`)
  }
  return `${lines.join('\n')}\n`
}

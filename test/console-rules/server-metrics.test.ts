/** The figures of the console's dashboard, from readings of the metrics. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { histogramOf, increases, percentile, type Reading } from '../../console/src/server/counters.ts'
import { errorClassOf, kindOf, pointOf } from '../../console/src/server/points.ts'

type Row = readonly [name: string, labels: Readonly<Record<string, string>>, value: number]

const reading = (second: number, ...rows: readonly Row[]): Reading => ({
  time: new Date(second * 1000).toISOString(),
  samples: rows.map(([name, labels, value]) => ({ name, labels, value })),
})

test('a counter that starts again, or appears, counts from zero', () => {
  const grown = increases(
    reading(0, ['a', { role: 'x' }, 10], ['a', { role: 'y' }, 10]),
    reading(1, ['a', { role: 'x' }, 14], ['a', { role: 'y' }, 3], ['a', { role: 'z' }, 2]),
  )
  assert.deepEqual(
    grown.map(({ labels, value }) => [labels.role, value]),
    [
      ['x', 4],
      ['y', 3],
      ['z', 2],
    ],
  )
})

const buckets = (...counts: readonly number[]): Row[] =>
  counts.map((count, i) => ['h_bucket', { le: ['0.1', '0.5', '1', '+Inf'][i]!, of: 'x' }, count])

test('a percentile lies within the bucket that contains it', () => {
  for (const [counts, share, expected] of [
    [[10, 10, 10, 10], 0.5, 0.05],
    [[10, 10, 10, 10], 1, 0.1],
    [[0, 10, 10, 10], 0.5, 0.3],
    [[5, 10, 10, 10], 0.75, 0.3],
    [[5, 5, 10, 10], 0.5, 0.1],
    [[5, 5, 10, 10], 0.75, 0.75],
    // Nothing is known beyond the last bound.
    [[0, 0, 0, 10], 0.5, 1],
    [[9, 9, 9, 10], 0.99, 1],
    [[0, 0, 0, 0], 0.5, null],
    [[], 0.5, null],
  ] as const) {
    const found = percentile(histogramOf(reading(0, ...buckets(...counts)).samples, 'h'), share)
    assert.equal(found === null ? null : Math.round(found * 1e6) / 1e6, expected, `${counts} ${share}`)
  }
})

test('a histogram is summed over its labels and ordered by its bounds', () => {
  const samples = reading(0, ['h_bucket', { le: '+Inf', of: 'y' }, 7], ...buckets(1, 2, 3, 4), ['h_sum', {}, 9]).samples
  assert.deepEqual(
    histogramOf(samples, 'h').map(({ count }) => count),
    [1, 2, 3, 11],
  )
})

test('operations are grouped by what they do', () => {
  const kinds = {
    read: ['GetObject', 'HeadObject', 'Website'],
    write: ['PutObject', 'UploadPart', 'CompleteMultipartUpload', 'CopyObject'],
    list: ['ListObjectsV2', 'ListBuckets'],
    delete: ['DeleteObject', 'DeleteObjects'],
    other: ['DeleteObjectTagging', 'DeleteBucket', 'PutBucketCors', 'GetObjectRetention', 'unknown', ''],
  }
  for (const [kind, operations] of Object.entries(kinds)) {
    assert.deepEqual([...new Set(operations.map(kindOf))], [kind])
  }
})

test('errors are refusals, mistakes of clients, or of the server', () => {
  const statuses = ['200', '304', '403', '401', '404', '412', '500', '503']
  assert.deepEqual(statuses.map(errorClassOf), [
    undefined,
    undefined,
    'refused',
    'refused',
    'client',
    'client',
    'server',
    'server',
  ])
})

const REQUEST = { operation: 'GetObject', dialect: 's3', status: '200', code: 'ok' }

test('a point has rates per second, and gauges as they are', () => {
  const before = reading(
    100,
    ['holdfast_requests_total', REQUEST, 50],
    ['holdfast_maintenance_seconds_total', { worker: 'reclaim' }, 1],
    ['holdfast_process_cpu_seconds_total', { role: 'worker' }, 7],
    ['holdfast_sent_bytes_total', { operation: 'GetObject' }, 1000],
  )
  const now = reading(
    105,
    ['holdfast_requests_total', REQUEST, 60],
    ['holdfast_requests_total', { ...REQUEST, dialect: 'svc', status: '500', code: 'InternalError' }, 5],
    ['holdfast_request_seconds_bucket', { le: '1' }, 10],
    ['holdfast_request_seconds_bucket', { le: '+Inf' }, 10],
    ['holdfast_maintenance_seconds_total', { worker: 'reclaim' }, 2],
    ['holdfast_maintenance_seconds_total', { worker: 'usage' }, 0.5],
    ['holdfast_process_cpu_seconds_total', { role: 'worker' }, 12],
    ['holdfast_process_resident_bytes', { role: 'worker' }, 4096],
    ['holdfast_sent_bytes_total', { operation: 'GetObject' }, 2000],
    ['holdfast_filesystem_size_bytes', { folder: 'data' }, 100],
    ['holdfast_filesystem_free_bytes', { folder: 'data' }, 40],
    ['holdfast_filesystem_size_bytes', { folder: 'blobs' }, 100],
    ['holdfast_filesystem_free_bytes', { folder: 'blobs' }, 40],
  )
  const point = pointOf(before, now)!
  assert.deepEqual([point.time, point.seconds], [105, 5])
  const { values } = point
  assert.deepEqual([values['requests.read'], values['requests.write'], values['errors.server']], [3, 0, 1])
  assert.deepEqual([values['upkeep.space'], values['upkeep.other'], values['processor.worker']], [0.2, 0.1, 1])
  assert.deepEqual([values['bytes.sent'], values['memory.worker'], values['latency.p50']], [200, 4096, 0.5])
  assert.deepEqual([values['disk.data.used'], values['disk.data.free'], values['disk.blobs.free']], [60, 40, undefined])
})

test('without a reading before it a point has no rates, and without time between them there is none', () => {
  const now = reading(100, ['holdfast_requests_total', REQUEST, 50])
  assert.deepEqual(pointOf(undefined, now), { time: 100, seconds: 0, values: {} })
  assert.equal(pointOf(now, now), undefined)
  assert.equal(pointOf(reading(200), now), undefined)
  assert.equal(pointOf(reading(90), now)?.values['latency.p50'], null)
})

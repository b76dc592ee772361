import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figure, readExposition } from '../../test/telemetry/exposition.ts'
import { BucketCounts } from '../lib/bucket-counts.ts'
import {
  cumulativeSamples,
  exposition,
  histogramSamples,
  labelled,
  METRIC_FAMILIES,
  mergeSamples,
  type Sample,
} from './families.ts'

test('metric names and types follow the conventions of Prometheus', () => {
  for (const [name, { type, help }] of Object.entries(METRIC_FAMILIES)) {
    assert.match(name, /^holdfast_[a-z0-9_]+$/)
    assert.equal(name.endsWith('_total'), type === 'counter', name)
    assert.doesNotMatch(help, /[\n\\]/)
  }
})

test('written samples are read back with any label value', () => {
  const odd = 'a "quoted" \\ back\nslash'
  const families = readExposition(exposition([['holdfast_info', labelled({ runtime: odd }), 1]]))
  assert.equal(figure(families, 'holdfast_info', { runtime: odd }), 1)
})

test('processes are added up, and the worst of them is shown where a sum would say nothing', () => {
  const one: Sample[] = [
    ['holdfast_requests_in_flight', '', 2],
    ['holdfast_event_loop_delay_seconds', labelled({ point: 'max' }), 0.5],
  ]
  const other: Sample[] = [
    ['holdfast_requests_in_flight', '', 3],
    ['holdfast_event_loop_delay_seconds', labelled({ point: 'max' }), 0.25],
  ]
  assert.deepEqual(
    mergeSamples([...one, ...other]).map(([, , value]) => value),
    [5, 0.5],
  )
})

test('counters of an exited process are kept', () => {
  const histogram = new BucketCounts([0.5])
  histogram.observe(0.3)
  const shown = histogramSamples('holdfast_response_start_seconds', { operation: 'GetObject' }, histogram)
  const gone: Sample[] = [['holdfast_requests_in_flight', '', 2], ['holdfast_lock_refusals_total', '', 7], ...shown]
  assert.deepEqual(cumulativeSamples(gone), gone.slice(1))
})

test('an observation counts in its bucket and in all larger ones', () => {
  const histogram = new BucketCounts([0.0005, 0.001, 0.25, 0.5, 60])
  for (const seconds of [0.0005, 0.0006, 0.3, 1000]) histogram.observe(seconds)
  const families = readExposition(exposition(histogramSamples('holdfast_response_start_seconds', {}, histogram)))
  const upTo = (le: string): number => figure(families, 'holdfast_response_start_seconds_bucket', { le })
  assert.deepEqual(['0.0005', '0.001', '0.25', '0.5', '60', '+Inf'].map(upTo), [1, 2, 2, 3, 3, 4])
  assert.equal(figure(families, 'holdfast_response_start_seconds_sum'), 0.0005 + 0.0006 + 0.3 + 1000)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  formatHttpDate,
  formatTimestamp,
  parseHttpDate,
  parseTimestamp,
  TIMESTAMP_BYTES_MAX,
  writeTimestamp,
} from './http-date.ts'

const MOMENT = Date.UTC(1994, 10, 6, 8, 49, 37)

test('R5: the three forms of RFC 7231', () => {
  assert.equal(formatHttpDate(MOMENT + 999), 'Sun, 06 Nov 1994 08:49:37 GMT')
  for (const text of [
    'Sun, 06 Nov 1994 08:49:37 GMT',
    ' Sun, 06 Nov 1994 08:49:37 GMT ',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
  ]) {
    assert.equal(parseHttpDate(text), MOMENT, text)
  }
  assert.equal(parseHttpDate('Wednesday, 06-Nov-30 08:49:37 GMT'), Date.UTC(2030, 10, 6, 8, 49, 37))
  assert.equal(parseHttpDate('Thu, 29 Feb 2024 23:59:59 GMT'), Date.UTC(2024, 1, 29, 23, 59, 59))
})

test('invalid dates', () => {
  for (const text of [
    ...[
      '',
      'now',
      '0',
      '784111777',
      '1994-11-06T08:49:37Z',
      'Sun, 06 Nov 1994 08:49:37',
      'Sun, 6 Nov 1994 08:49:37 GMT',
    ],
    ...['Sun, 06 Nov 1994 24:00:00 GMT', 'Sun, 06 Nov 1994 08:60:00 GMT', 'Sun, 06 Nov 1994 08:00:60 GMT'],
    ...['Sun, 31 Nov 1994 08:49:37 GMT', 'Wed, 29 Feb 2023 00:00:00 GMT', 'Sun, 00 Nov 1994 08:49:37 GMT'],
    ...['Sun, 06 Foo 1994 08:49:37 GMT', 'Sun, 06 Nov 1994 08:49:37 CET', 'Sun, 06 Nov 0094 08:49:37 GMT'],
  ]) {
    assert.equal(parseHttpDate(text), undefined, text)
  }
})

test('R17 R27: timestamps, with what clients vary', () => {
  const at = Date.UTC(2026, 10, 15, 2, 31)
  assert.equal(formatTimestamp(at), '2026-11-15T02:31:00.000Z')
  const rows: readonly (readonly [string, number])[] = [
    ['2026-11-15T02:31:00.000Z', at],
    ['2026-11-15T02:31:00Z', at],
    ['2026-11-15T02:31Z', at],
    ['2026-11-15T02:31:00', at],
    ['2026-11-15 02:31:00Z', at],
    ['2026-11-15t02:31:00z', at],
    ['2026-11-15T02:31:00.5Z', at + 500],
    ['2026-11-15T02:31:00.123456789Z', at + 123],
    ['2026-11-15T04:31:00+02:00', at],
    ['2026-11-14T21:01:00-0530', at],
    ['2026-11-15', Date.UTC(2026, 10, 15)],
    [' 2026-11-15T02:31:00Z\n', at],
  ]
  for (const [text, ms] of rows) assert.equal(parseTimestamp(text), ms, text)
})

test('invalid timestamps', () => {
  for (const text of [
    ...['', 'never', '2026', '2026-11', '20261115T023100Z', '2026-1-5', '2026-02-30T00:00:00Z', '2026-13-01T00:00:00Z'],
    ...['2026-00-10', '2026-01-00', '2026-01-01T24:00:00Z', '2026-01-01T00:61:00Z', '2026-01-01T00:00:60Z'],
    ...['2026-01-01T00:00:00+24:00', '2026-01-01T00:00:00+00:60', '2026-01-01T00:00:00.Z', '2026-01-01T00:00:00X'],
    ...[
      '+02026-01-01',
      '12026-01-01T00:00:00Z',
      '0000-01-01',
      '2026-01-01T',
      '1e3-01-01',
      'Sun, 06 Nov 1994 08:49:37 GMT',
    ],
  ]) {
    assert.equal(parseTimestamp(text), undefined, text)
  }
})

test('R17: timestamps equal those of Date.toISOString', () => {
  // Alternating days, including some that share a cache slot.
  const moment = fc.oneof(
    fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 }),
    fc.tuple(fc.nat(300), fc.nat(86_399_999)).map(([day, ms]) => day * 86_400_000 + ms),
  )
  fc.assert(
    fc.property(fc.array(moment, { minLength: 1, maxLength: 50 }), moments => {
      for (const ms of moments) {
        const expected = new Date(ms).toISOString()
        assert.equal(formatTimestamp(ms), expected)
        const to = Buffer.alloc(TIMESTAMP_BYTES_MAX + 3, '-')
        assert.equal(to.toString('latin1', 3, writeTimestamp(ms, to, 3)), expected)
      }
    }),
  )
  assert.throws(() => formatTimestamp(Number.NaN), RangeError)
  assert.throws(() => writeTimestamp(Number.NaN, Buffer.alloc(TIMESTAMP_BYTES_MAX), 0), RangeError)
})

test('a formatted HTTP date is parsed back', () => {
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(1970, 0, 1), max: Date.UTC(9999, 11, 31) }), ms => {
      assert.equal(parseTimestamp(formatTimestamp(ms)), ms)
      assert.equal(parseHttpDate(formatHttpDate(ms)), Math.floor(ms / 1000) * 1000)
      assert.equal(formatHttpDate(ms), new Date(ms).toUTCString())
    }),
  )
})

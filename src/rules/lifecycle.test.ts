import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseXml } from '../lib/xml-reader.ts'
import { readLifecycle } from './documents/lifecycle.ts'
import {
  abortOf,
  afterDays,
  expirationOf,
  expirationText,
  type LifecycleRule,
  loneMarkerExpirationOf,
  newerVersionsNeeded,
  noncurrentExpirationOf,
  prefixesOf,
  ruleIdText,
} from './lifecycle.ts'

const at = (text: string): number => Date.parse(text)
const rules = (inside: string): LifecycleRule[] =>
  readLifecycle(parseXml(`<LifecycleConfiguration>${inside}</LifecycleConfiguration>`))
const rule = (id: string, filter: string, action: string, status = 'Enabled'): string =>
  `<Rule><ID>${id}</ID><Status>${status}</Status><Filter>${filter}</Filter>${action}</Rule>`
const days = (count: number): string => `<Expiration><Days>${count}</Days></Expiration>`
const abort = (count: number): string =>
  '<AbortIncompleteMultipartUpload>' +
  `<DaysAfterInitiation>${count}</DaysAfterInitiation></AbortIncompleteMultipartUpload>`

const MADE = at('2026-11-15T10:30:00Z')
const object = { key: 'logs/a', size: 100, tags: [['colour', 'blue']] as [string, string][], modifiedAt: MADE }

test('R67: whole days, then up to the next midnight', () => {
  for (const [from, count, due] of [
    ['2014-01-15T10:30:00Z', 3, '2014-01-19T00:00:00Z'],
    ['2014-01-15T00:00:00Z', 1, '2014-01-16T00:00:00Z'],
    ['2014-01-15T00:00:00.001Z', 1, '2014-01-17T00:00:00Z'],
    ['2024-02-28T12:00:00Z', 1, '2024-03-01T00:00:00Z'],
  ] as const) {
    assert.equal(afterDays(at(from), count), at(due))
  }
})

test('R89: the earliest enabled rule that matches', () => {
  const found = expirationOf(
    rules(
      rule('late', '', days(30)) +
        rule('off', '', days(1), 'Disabled') +
        rule('elsewhere', '<Prefix>data/</Prefix>', days(1)) +
        rule('soon', '<Prefix>logs/</Prefix>', days(2)) +
        rule('dated', '', '<Expiration><Date>2027-01-01T00:00:00Z</Date></Expiration>') +
        rule('markers', '', '<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>'),
    ),
    object,
  )
  assert.deepEqual(found, { at: at('2026-11-18T00:00:00Z'), ruleId: 'soon' })
  assert.equal(expirationText(found!), 'expiry-date="Wed, 18 Nov 2026 00:00:00 GMT", rule-id="soon"')
  assert.equal(expirationOf(rules(rule('x', '<Prefix>data/</Prefix>', days(1))), object), undefined)
})

test('R89: every predicate of a filter must hold', () => {
  for (const [filter, matches] of [
    ['<Tag><Key>colour</Key><Value>blue</Value></Tag>', true],
    ['<Tag><Key>colour</Key><Value>red</Value></Tag>', false],
    ['<ObjectSizeGreaterThan>99</ObjectSizeGreaterThan>', true],
    ['<ObjectSizeGreaterThan>100</ObjectSizeGreaterThan>', false],
    ['<ObjectSizeLessThan>101</ObjectSizeLessThan>', true],
    ['<ObjectSizeLessThan>100</ObjectSizeLessThan>', false],
    ['<And><Prefix>logs/</Prefix><Tag><Key>colour</Key><Value>blue</Value></Tag></And>', true],
    ['<And><Prefix>data/</Prefix><Tag><Key>colour</Key><Value>blue</Value></Tag></And>', false],
  ] as const) {
    assert.equal(expirationOf(rules(rule('x', filter, days(1))), object) !== undefined, matches, filter)
  }
})

test('R89: rule names are encoded, and dates out of range are omitted', () => {
  assert.match(expirationText({ at: MADE, ruleId: 'a "b" ü' }), /rule-id="a%20%22b%22%20%C3%BC"$/)
  assert.equal(ruleIdText('plain name'), 'plain name')
  assert.equal(ruleIdText('ü'), '%C3%BC')
  assert.equal(expirationOf(rules(rule('x', '', days(2_147_483_647))), object), undefined)
})

test('R67: uploads are matched by prefix only, and the earliest rule applies', () => {
  const all = rules(
    rule('a', '', abort(7)) + rule('b', '<Prefix>big/</Prefix>', abort(1)) + rule('c', '', abort(1), 'Disabled'),
  )
  assert.deepEqual(abortOf(all, 'small', MADE), { at: at('2026-11-23T00:00:00Z'), ruleId: 'a' })
  assert.deepEqual(abortOf(all, 'big/one', MADE), { at: at('2026-11-17T00:00:00Z'), ruleId: 'b' })
  assert.equal(abortOf(rules(rule('x', '', days(1))), 'small', MADE), undefined)
})

test('R67: a filter on tags or sizes never matches an upload, even if one were stored', () => {
  const plain = rules(rule('a', '', abort(1)))[0]!
  for (const more of [{ tags: [['a', 'b']] as const }, { largerThan: 1 }, { smallerThan: 1 }]) {
    assert.equal(abortOf([{ ...plain, filter: { ...plain.filter, ...more } }], 'key', MADE), undefined)
  }
})

const noncurrent = (count: number, keep = ''): string =>
  `<NoncurrentVersionExpiration><NoncurrentDays>${count}</NoncurrentDays>${keep}</NoncurrentVersionExpiration>`
const keepTwo = '<NewerNoncurrentVersions>2</NewerNoncurrentVersions>'

test('a noncurrent version expires by its age since replacement and the number of newer ones', () => {
  const all = rules(rule('few', '', noncurrent(1, keepTwo)) + rule('old', '', noncurrent(10)))
  const of = { ...object, marker: false, since: at('2026-11-20T00:00:00Z') }
  for (const [newer, due, ruleId] of [
    [0, '2026-11-30', 'old'],
    [1, '2026-11-30', 'old'],
    [2, '2026-11-21', 'few'],
    [3, '2026-11-21', 'few'],
  ] as const) {
    assert.deepEqual(noncurrentExpirationOf(all, { ...of, newer }), { at: at(due), ruleId })
  }
  assert.equal(newerVersionsNeeded(all), 2)
  const few = rules(rule('few', '', `<NoncurrentVersionExpiration>${keepTwo}</NoncurrentVersionExpiration>`))
  assert.equal(noncurrentExpirationOf(few, { ...of, newer: 1 }), undefined)
  assert.deepEqual(noncurrentExpirationOf(few, { ...of, newer: 2 }), { at: of.since, ruleId: 'few' })
  assert.equal(newerVersionsNeeded(rules(rule('old', '', noncurrent(10)))), 0)
})

test('a delete marker is matched by its key only', () => {
  const bySize = rules(rule('x', '<ObjectSizeLessThan>500</ObjectSizeLessThan>', noncurrent(1)))
  const of = { ...object, since: MADE, newer: 0 }
  assert.notEqual(noncurrentExpirationOf(bySize, { ...of, marker: false }), undefined)
  assert.equal(noncurrentExpirationOf(bySize, { ...of, marker: true }), undefined)
  const markers = '<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>'
  const both = rules(rule('at once', '<Prefix>logs/</Prefix>', markers) + rule('later', '', days(3)))
  assert.deepEqual(loneMarkerExpirationOf(both, 'logs/a', MADE), { at: MADE, ruleId: 'at once' })
  assert.deepEqual(loneMarkerExpirationOf(both, 'a', MADE), { at: at('2026-11-19T00:00:00Z'), ruleId: 'later' })
  assert.equal(loneMarkerExpirationOf(rules(rule('x', '<Prefix>b</Prefix>', days(3))), 'a', MADE), undefined)
})

test('prefixes to scan are those of enabled rules, without ones that a shorter one covers', () => {
  const all = rules(
    rule('1', '<Prefix>logs/</Prefix>', days(1)) +
      rule('2', '<Prefix>logs/a</Prefix>', days(1)) +
      rule('3', '<Prefix>logs-</Prefix>', noncurrent(1)) +
      rule('4', '<Prefix>data/</Prefix>', days(1)) +
      rule('5', '', days(1), 'Disabled') +
      rule('6', '<Prefix>up/</Prefix>', abort(1)) +
      rule('7', '<And><Prefix>tagged/</Prefix><Tag><Key>a</Key><Value>b</Value></Tag></And>', days(1)),
  )
  assert.deepEqual(prefixesOf(all, 'current'), ['data/', 'logs/', 'tagged/'])
  assert.deepEqual(prefixesOf(all, 'noncurrent'), ['logs-'])
  assert.deepEqual(prefixesOf(all, 'marker'), ['data/', 'logs/'])
  assert.deepEqual(prefixesOf(all, 'upload'), ['up/'])
  assert.deepEqual(prefixesOf(rules(rule('1', '', days(1)) + rule('2', '<Prefix>a</Prefix>', days(1))), 'current'), [
    '',
  ])
})

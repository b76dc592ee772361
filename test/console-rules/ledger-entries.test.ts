/** Entries of a ledger as sentences, and the filter over them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entryOf, type LedgerEntry, matches } from '../../console/src/ledger/entry.ts'
import { actorText, sentenceOf } from '../../console/src/ledger/sentence.ts'

const UNTIL = '2031-01-02T00:00:00.000Z'
const LATER = '2032-01-02T00:00:00.000Z'
const NO_LOCK = { hold: null, retention: null }
const retained = (until: string, mode = 'governance') => ({ hold: null, retention: { mode, until } })

/** Times depend on the zone of the machine. */
const withoutTimes = (text: string): string => text.replace(/\d+ \w+ (\d{4}), \d\d:\d\d:\d\d \S+/g, 'in $1')

const entry = (fields: object): LedgerEntry => ({
  sequence: 1,
  time: UNTIL,
  what: 'hold',
  by: { account: '1' },
  hash: '',
  ...fields,
})

const onKey = (fields: object): LedgerEntry => entry({ key: 'k', versionId: 'v', ...fields })

const SENTENCES: readonly (readonly [LedgerEntry, string])[] = [
  [entry({ what: 'configuration', before: null, after: { locks: true, default: null } }), 'Turned on Object Lock'],
  [
    entry({ what: 'configuration', before: null, after: { locks: true, default: { mode: 'compliance', days: 1 } } }),
    'Turned on Object Lock with a default retention: compliance, 1 day',
  ],
  [
    entry({
      what: 'configuration',
      before: { locks: true, default: null },
      after: { locks: true, default: { mode: 'governance', days: 30 } },
    }),
    'Set the default retention: governance, 30 days',
  ],
  [
    entry({
      what: 'configuration',
      before: { locks: true, default: { mode: 'governance', days: 30 } },
      after: { locks: true, default: null },
    }),
    'Removed the default retention',
  ],
  [entry({ what: 'bucket removed', before: { locks: true, default: null }, after: null }), 'Deleted the bucket'],
  [onKey({ after: { hold: 'ON', retention: null } }), 'Put KEY on legal hold'],
  [onKey({ after: { hold: 'OFF', retention: null } }), 'Released the legal hold on KEY'],
  [onKey({ what: 'retention', before: NO_LOCK, after: retained(UNTIL) }), 'Retained KEY until in 2031 (governance)'],
  [
    onKey({ what: 'retention', before: retained(LATER), after: retained(UNTIL), bypass: true }),
    'Changed the retention of KEY from in 2032 to in 2031 (governance), bypassing governance retention',
  ],
  [
    onKey({ what: 'retention', before: retained(UNTIL), after: NO_LOCK, bypass: true }),
    'Lifted the retention of KEY, bypassing governance retention',
  ],
  [
    onKey({ what: 'created', before: null, after: { ...retained(UNTIL, 'compliance'), hold: 'ON' } }),
    'Wrote KEY on legal hold and retained until in 2031 (compliance)',
  ],
  [onKey({ what: 'removed', before: retained(UNTIL), bypass: true }), 'Deleted KEY, bypassing governance retention'],
  [
    onKey({ what: 'delete refused', reason: 'held', times: 3 }),
    'Tried to delete KEY and was refused: it is on legal hold (3 times)',
  ],
  [
    onKey({ what: 'retention refused', reason: 'compliance' }),
    'Tried to weaken the retention of KEY and was refused: compliance retention is in force',
  ],
  [
    entry({ what: 'clock confirmed', before: { lockTime: UNTIL }, after: { lockTime: LATER } }),
    'Confirmed the clock: locks end by in 2032 instead of in 2031',
  ],
  [entry({ what: 'key disabled', keyName: 'tax' }), 'Disabled the encryption key tax'],
  [entry({ what: 'key rotated', of: 'named', keyName: 'tax', version: 2 }), 'Rotated the named key tax: version 2'],
  [entry({ what: 'keys rewrapped', service: 1, named: 2 }), 'Began to wrap all content keys anew'],
  [onKey({ what: 'of a later version' }), 'of a later version KEY'],
]

for (const [one, sentence] of SENTENCES) {
  test(`an entry "${one.what}" reads: ${sentence}`, () => {
    assert.equal(withoutTimes(sentenceOf(one).join(one.key === undefined ? '' : 'KEY')), sentence)
  })
}

test('an entry names its author: a user, an account, nobody, or the server', () => {
  const actors = [{ account: '1', user: 'clerk' }, { account: '1' }, { account: 'anonymous' }, { account: 'holdfast' }]
  assert.deepEqual(
    actors.map(by => actorText(entry({ by }))),
    ['clerk of 1', '1', 'an anonymous caller', 'the server itself'],
  )
})

test('a filter looks into keys, versions and authors, whatever their case', () => {
  const one = onKey({ key: 'Letters/1.txt', by: { account: '42', user: 'clerk', accessKey: 'HFKEY' } })
  for (const text of ['letters', 'v', '42', 'CLERK', 'hfkey', '']) assert(matches(one, { text, kind: undefined }), text)
  assert(!matches(one, { text: 'nobody', kind: undefined }))
  assert(matches(one, { text: '', kind: 'holds' }))
  assert(!matches(one, { text: '', kind: 'retention' }))
})

test('a line that is not an entry is rejected', () => {
  const whole = { sequence: 1, time: UNTIL, what: 'hold', by: { account: '1' } }
  assert.notEqual(entryOf(JSON.stringify(whole)), undefined)
  const others = [{}, null, { time: 'soon' }, { sequence: '1' }, { what: 1 }, { key: {} }, { by: {} }]
  const lines = others.map(change => JSON.stringify(change && { ...whole, ...change }))
  // The first change is none.
  for (const line of ['', '{}', ...lines.slice(1)]) assert.equal(entryOf(line), undefined, line)
})

test('an entry whose content was changed beyond recognition is named by its kind', () => {
  for (const what of ['retention', 'created', 'clock confirmed', 'configuration']) {
    const changed = onKey({ what, before: 7, after: { retention: { until: 'never' }, default: 1, locks: {} } })
    assert.equal(typeof sentenceOf(changed)[0], 'string')
  }
  assert.deepEqual(sentenceOf(onKey({ what: 'clock confirmed' })), ['clock confirmed ', ''])
})

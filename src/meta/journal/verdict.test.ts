import assert from 'node:assert/strict'
import { test } from 'node:test'
import { utf8 } from '../suite-driver.ts'
import type { CopyRow } from './copy-format.ts'
import { type CopyVerdict, verdictOf } from './verdict.ts'

/** `txn value`, a deletion without a value; the stamp is a hundred times the transaction. */
function rowOf(text: string): CopyRow {
  const [txn, value] = text.split(' ')
  const stamp = value === undefined ? 0 : Number(txn) * 100
  return { generation: 1, txn: Number(txn), seq: 0, key: utf8('k'), value: value && utf8(value), stamp } as CopyRow
}

const found = (text: string): { value: Buffer; stamp: number } | undefined => {
  const [stamp, value] = text.split(' ')
  return value === undefined ? undefined : { stamp: Number(stamp), value: utf8(value) }
}

const isUnjournaled = (stamp: number): boolean => stamp === 777

/** The engine was read after transaction 10. */
const CASES: readonly (readonly [
  known: string[],
  found: string,
  isNoted: boolean,
  verdict: CopyVerdict,
  why: string,
])[] = [
  [['3 a'], '300 a', false, 'same', 'nothing happened'],
  [['3 a', '8 b'], '800 b', false, 'same', 'the newest'],
  [['3 a', '8 b'], '300 a', false, 'outdated', 'an older one'],
  [['3 a', '8'], '300 a', false, 'outdated', 'it was deleted'],
  [['3 a'], '', false, 'missing', 'nobody deleted it'],
  [['3 a'], '', true, 'gone', 'deleted, which no journal tells yet'],
  [['3 a', '8'], '', false, 'gone', 'deleted'],
  [['3 a', '8', '9 c'], '', false, 'missing', 'written again after it was deleted'],
  [['3 a', '12'], '', false, 'gone', 'deleted after the reading began'],
  [['3 a', '12'], '300 a', false, 'same', 'deleted after the reading'],
  [['3 a', '12', '13 d'], '1300 d', false, 'same', 'written while it was read'],
  [['3 a', '12 b'], '', false, 'missing', 'at no moment was it absent'],
  [['12 b'], '', false, 'gone', 'first written after the reading'],
  [['3 a'], '777 x', false, 'new', 'written by a commit whose journal is not there yet'],
  [['3 a', '8'], '777 x', false, 'new', 'the same, after it was deleted'],
  [['3 a'], '555 x', false, 'outdated', 'written by nobody who lives: an older state than the copy goes back'],
  [[], '777 x', false, 'new', 'a key that the copy does not know yet'],
  [[], '555 x', false, 'outdated', 'a key that was deleted longer ago than the copy goes back'],
  [['3 a'], '301 a', false, 'same', 'a stamp that rotted'],
  [['3 a'], '300 x', false, 'outdated', 'other bytes under the stamp of what was written'],
]

for (const [known, seen, isNoted, verdict, why] of CASES) {
  test(`of [${known}] with ${seen || 'nothing'} in the engine the verdict is ${verdict}: ${why}`, () => {
    const at = { generation: 1, txn: 10, seq: Number.POSITIVE_INFINITY }
    assert.equal(verdictOf(known.map(rowOf), found(seen), { at, isNoted, isUnjournaled: isUnjournaled }), verdict)
  })
}

const LEFT_OUT: readonly (readonly [known: string[], found: string, verdict: CopyVerdict, why: string])[] = [
  [['3 a'], '', 'gone', 'it may have been deleted'],
  [['3 a'], '555 x', 'new', 'it may have been written'],
  [[], '555 x', 'new', 'it may have been made'],
  [['3 a'], '300 a', 'same', 'nobody touched it'],
  [['3 a', '8 b'], '300 a', 'outdated', 'nobody writes an older state under its old stamp'],
  [['3 a'], '300 x', 'outdated', 'nor other bytes'],
]

for (const [known, seen, verdict, why] of LEFT_OUT) {
  test(`left out: of [${known}] with ${seen || 'nothing'} in the engine the verdict is ${verdict}: ${why}`, () => {
    const moment = { at: { generation: 2, txn: 0, seq: 0 }, isNoted: false, isUnjournaled, isBypassed: true }
    assert.equal(verdictOf(known.map(rowOf), found(seen), moment), verdict)
  })
}

test('an earlier generation counts as settled, whatever its transaction numbers', () => {
  const at = { generation: 2, txn: 10, seq: Number.POSITIVE_INFINITY }
  assert.equal(
    verdictOf([rowOf('3 a'), rowOf('5000 b')], found('300 a'), { at, isNoted: false, isUnjournaled: isUnjournaled }),
    'outdated',
  )
})

/** The console's words before it changes locks, and its export of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine, type HeldVersion, heldCells } from '../../console/src/holds/held-csv.ts'
import { type LockOrder, lockPlan, type Target } from '../../console/src/holds/lock-plan.ts'
import { dayAfter, NO_CHOICE, type Retention, retentionOf } from '../../console/src/holds/retention-choice.ts'

const NOW = new Date('2030-06-15T12:00:00Z')
const inDays = (days: number): Date => new Date(NOW.getTime() + days * 86_400_000)
const governance = (days: number): Retention => ({ mode: 'governance', until: inDays(days) })
const compliance = (days: number): Retention => ({ mode: 'compliance', until: inDays(days) })

const target = (isHeld: boolean, retention?: Retention): Target => ({
  key: 'k',
  versionId: 'v',
  isLatest: true,
  isHeld,
  retention,
})

const order = (action: LockOrder['action'], wanted?: Retention, bypass = false): LockOrder => ({
  action,
  wanted,
  bypass,
})

type Fate = 'todo' | 'unchanged' | 'longer' | 'needsBypass'
const PLANS: readonly (readonly [string, Target, LockOrder, Fate])[] = [
  ['a free version is held', target(false), order('hold'), 'todo'],
  ['a held version stays as it is', target(true), order('hold'), 'unchanged'],
  ['a held version is released', target(true), order('release'), 'todo'],
  ['a free version has nothing to release', target(false), order('release'), 'unchanged'],
  ['a free version is retained', target(false), order('retain', governance(9)), 'todo'],
  ['retention is extended', target(false, governance(3)), order('retain', governance(9)), 'todo'],
  ['the same retention is left', target(false, governance(9)), order('retain', governance(9)), 'unchanged'],
  ['a longer one needs the bypass', target(false, governance(9)), order('retain', governance(3)), 'needsBypass'],
  ['a longer one is shortened by it', target(false, governance(9)), order('retain', governance(3), true), 'todo'],
  ['another mode needs the bypass', target(false, governance(3)), order('retain', compliance(9)), 'needsBypass'],
  ['compliance is extended', target(false, compliance(3)), order('retain', compliance(9)), 'todo'],
  ['compliance is never shortened', target(false, compliance(9)), order('retain', compliance(3), true), 'longer'],
  ['compliance keeps its mode', target(false, compliance(3)), order('retain', governance(9), true), 'longer'],
  ['what has ended is retained anew', target(false, compliance(-1)), order('retain', governance(9)), 'todo'],
  ['governance is lifted', target(false, governance(3)), order('lift'), 'todo'],
  ['compliance is not lifted', target(false, compliance(3)), order('lift'), 'longer'],
  ['what has ended needs no lifting', target(false, governance(-1)), order('lift'), 'unchanged'],
]

for (const [title, one, wanted, fate] of PLANS) {
  test(`plan of locks: ${title}`, () => {
    const { todo, ...others } = lockPlan([one], wanted, NOW)
    const counts = { todo: todo.length, ...others }
    assert.deepEqual(counts, { todo: 0, unchanged: 0, longer: 0, needsBypass: 0, [fate]: 1 })
  })
}

test('a retention lasts until the end of the chosen day, which must come and be less than a century away', () => {
  const now = new Date(2030, 5, 15, 12)
  const untilOf = (day: string) => retentionOf({ ...NO_CHOICE, day }, now)?.until
  assert.deepEqual(untilOf('2030-06-16'), new Date(2030, 5, 16, 23, 59, 59))
  for (const day of ['', '2030-06-14', '2130-07-01', '2030-02-31x']) assert.equal(untilOf(day), undefined, day)
  assert.equal(dayAfter(30, now), '2030-07-15')
})

test('a table for spreadsheets quotes its cells and runs no formula', () => {
  assert.equal(csvLine(['a', 'b,c', 'd"e', 'f\ng']), 'a,"b,c","d""e","f\ng"\r\n')
  assert.equal(csvLine(['=1+1', '+1', '-1', '@a', 'a=b']), "'=1+1,'+1,'-1,'@a,a=b\r\n")
  const version: HeldVersion = {
    key: 'k',
    versionId: 'v',
    size: 7,
    lastModified: '2030-01-01T00:00:00.000Z',
    latest: false,
    hold: true,
    heldSince: { time: '2030-01-02T00:00:00.000Z', by: { account: '1', user: 'clerk' }, sequence: 2 },
    retention: { mode: 'governance', until: '2031-01-01T00:00:00.000Z', inForce: true },
  }
  assert.equal(
    csvLine(heldCells(version)),
    'k,v,no,7,yes,2030-01-02T00:00:00.000Z,clerk of 1,governance,2031-01-01T00:00:00.000Z,yes,,\r\n',
  )
})

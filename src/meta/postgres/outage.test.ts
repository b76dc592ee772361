import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../lib/clock.ts'
import { OutageNotice, type OutageState, outageText, whyOf } from './outage.ts'
import { openPostgresMeta } from './postgres.ts'

const UNREACHABLE = 'postgres://me:hush@127.0.0.1:1,127.0.0.1:2/db'

test('a start without PostgreSQL reports the outage at once and repeatedly, and finally the cause', async () => {
  const reports: OutageState[] = []
  await assert.rejects(
    openPostgresMeta({ url: UNREACHABLE, clock: new ManualClock(), onWait: waiting => reports.push(waiting) }),
    (error: Error) => {
      assert.match(
        error.message,
        /^no PostgreSQL primary can be reached at 127\.0\.0\.1:1, 127\.0\.0\.1:2 for 30 s: .*ECONNREFUSED/,
      )
      return true
    },
  )
  assert.deepEqual(
    reports.map(({ waitedMs }) => Math.floor(waitedMs / 5000)),
    [0, 1, 2, 3, 4, 5],
  )
  assert.match(
    outageText(reports[0]!),
    /^Waiting for PostgreSQL at 127\.0\.0\.1:1, 127\.0\.0\.1:2 \(.*ECONNREFUSED.*\), 0 of /,
  )
  assert(!JSON.stringify(reports).includes('hush'))
})

test('a silent server is reported after a second, and no more once it was found', () => {
  const clock = new ManualClock()
  const reports: OutageState[] = []
  const notice = new OutageNotice(clock, { at: 'db:5432', waitsMsMax: 30_000 }, waiting => reports.push(waiting))
  notice.begin()
  clock.move(999)
  assert.equal(reports.length, 0)
  clock.move(1)
  assert.deepEqual(reports, [{ at: 'db:5432', waitsMsMax: 30_000, why: 'no answer', waitedMs: 1000 }])
  notice.end()
  clock.move(60_000)
  assert.equal(reports.length, 1)
})

test('concurrent searches for one server report it once', () => {
  const clock = new ManualClock()
  let reports = 0
  const notice = new OutageNotice(clock, { at: 'db:5432', waitsMsMax: 30_000 }, () => reports++)
  for (let searching = 0; searching < 3; searching++) notice.begin()
  for (let searching = 0; searching < 3; searching++) notice.failed(new Error('refused'))
  assert.equal(reports, 1)
  notice.end()
  clock.move(5_000)
  assert.equal(reports, 2)
})

test('an error of all addresses of a host has the message of the last', () => {
  assert.equal(whyOf(new AggregateError([new Error('one'), new Error('two')])), 'two')
  assert.equal(whyOf(Object.assign(new Error(''), { code: 'ETIMEDOUT' })), 'ETIMEDOUT')
})

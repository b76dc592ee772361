import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../lib/clock.ts'
import { OutageNotice, type OutageState, outageText, whyOf } from './outage.ts'
import { openPostgresMeta } from './postgres.ts'

const NOBODY = 'postgres://me:hush@127.0.0.1:1,127.0.0.1:2/db'

test('a start without PostgreSQL tells at once what it waits for, then again and again, and why it ends', async () => {
  const told: OutageState[] = []
  await assert.rejects(
    openPostgresMeta({ url: NOBODY, clock: new ManualClock(), onWait: waiting => told.push(waiting) }),
    (error: Error) => {
      assert.match(
        error.message,
        /^no PostgreSQL primary can be reached at 127\.0\.0\.1:1, 127\.0\.0\.1:2 for 30 s: .*ECONNREFUSED/,
      )
      return true
    },
  )
  assert.deepEqual(
    told.map(({ waitedMs }) => Math.floor(waitedMs / 5000)),
    [0, 1, 2, 3, 4, 5],
  )
  assert.match(
    outageText(told[0]!),
    /^Waiting for PostgreSQL at 127\.0\.0\.1:1, 127\.0\.0\.1:2 \(.*ECONNREFUSED.*\), 0 of /,
  )
  assert(!JSON.stringify(told).includes('hush'))
})

test('a server that says nothing is told of after a second; nothing is told once it was found', () => {
  const clock = new ManualClock()
  const told: OutageState[] = []
  const notice = new OutageNotice(clock, { at: 'db:5432', waitsMsMax: 30_000 }, waiting => told.push(waiting))
  notice.begin()
  clock.move(999)
  assert.equal(told.length, 0)
  clock.move(1)
  assert.deepEqual(told, [{ at: 'db:5432', waitsMsMax: 30_000, why: 'no answer', waitedMs: 1000 }])
  notice.end()
  clock.move(60_000)
  assert.equal(told.length, 1)
})

test('several who wait for the same server tell it once', () => {
  const clock = new ManualClock()
  let told = 0
  const notice = new OutageNotice(clock, { at: 'db:5432', waitsMsMax: 30_000 }, () => told++)
  for (let searching = 0; searching < 3; searching++) notice.begin()
  for (let searching = 0; searching < 3; searching++) notice.failed(new Error('refused'))
  assert.equal(told, 1)
  notice.end()
  clock.move(5_000)
  assert.equal(told, 2)
})

test('an error of all addresses of a host says what the last of them said', () => {
  assert.equal(whyOf(new AggregateError([new Error('one'), new Error('two')])), 'two')
  assert.equal(whyOf(Object.assign(new Error(''), { code: 'ETIMEDOUT' })), 'ETIMEDOUT')
})

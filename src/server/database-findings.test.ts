import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PostgresFacts } from '../meta/postgres/inspect.ts'
import { judgeDatabase } from './database-findings.ts'

const SOUND: PostgresFacts = {
  host: 'one:5432',
  isStandby: false,
  version: '15.6',
  versionNumber: 15_00_06,
  fsync: 'on',
  fullPageWrites: 'on',
  synchronousCommit: 'on',
  synchronousStandbyNames: '*',
  synchronousStandbys: 1,
  connectionsMax: 97,
  clockOffset: { aheadMs: -20, errorMs: 1 },
}

/** State and text of findings that are not good. */
const troubles = (...servers: Parameters<typeof judgeDatabase>[0]): string[] =>
  judgeDatabase(servers, 5, 2)
    .filter(({ state }) => state !== 'good')
    .map(({ state, found }) => `${state}: ${found}`)

test('a sound database has no findings', () => {
  assert.deepEqual(troubles(SOUND, { ...SOUND, host: 'two:5432', isStandby: true }), [])
})

test('each unsafe setting of the primary is found', () => {
  const changed = (change: Partial<PostgresFacts>): string[] => troubles({ ...SOUND, ...change })
  assert.deepEqual(changed({ fsync: 'off' }), ['bad: fsync is off'])
  assert.deepEqual(changed({ fullPageWrites: 'off' }), ['bad: full_page_writes is off'])
  assert.deepEqual(changed({ synchronousCommit: 'local' }), ['bad: synchronous_commit is local'])
  assert.deepEqual(changed({ synchronousStandbyNames: '' }), ['odd: no synchronous standby is named'])
  assert.match(changed({ synchronousStandbys: 0 })[0]!, /^bad: .*none is attached$/)
  assert.match(changed({ synchronousStandbys: undefined })[0]!, /^odd: synchronous_standby_names is/)
  assert.match(changed({ connectionsMax: 16 })[0]!, /^bad: 16 connections, 17 for a server with 2 workers/)
  assert.match(changed({ version: '11.2', versionNumber: 11_00_02 })[0]!, /^bad: PostgreSQL 11/)
  const off = (aheadMs: number): string[] => changed({ clockOffset: { aheadMs, errorMs: 1 } })
  assert.deepEqual(off(3_000), ["odd: the database's clock is 3.00 s ahead of this machine's"])
  assert.deepEqual(off(-61_000), ["bad: the database's clock is 61.00 s behind this machine's"])
})

test('no primary, several of them, and a server that does not answer are found', () => {
  assert.deepEqual(troubles({ ...SOUND, isStandby: true }), ['bad: no primary'])
  assert.deepEqual(troubles(SOUND, { ...SOUND, host: 'two:5432' }), ['bad: 2 primaries'])
  assert.deepEqual(troubles(SOUND, { host: 'two:5432', failure: 'refused' }), ['bad: two:5432: refused'])
})

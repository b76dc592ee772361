/** Figures about the database, and the judgement of its settings. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BucketCounts } from '../../src/lib/bucket-counts.ts'
import { openPostgresMeta } from '../../src/meta/postgres/postgres.ts'
import { putOne, utf8 } from '../../src/meta/suite-driver.ts'
import { databaseFindings } from '../../src/server/database-findings.ts'
import { canReplicate, withReplication } from './replicated.ts'
import { dropTable, newTable, serverUrl, withAdmin } from './server.ts'

const skip = canReplicate ? false : 'run it through test/postgres/run.sh'

const total = ({ counts }: BucketCounts): number => counts.reduce((sum, count) => sum + count, 0)

test('postgres: round trips, batches and connections are counted', { skip }, async () => {
  const table = newTable()
  const meta = await openPostgresMeta({ url: serverUrl!, table })
  try {
    const figures = meta.remote!.figures!
    const atStart = figures.connects
    await Promise.all(['a', 'b', 'c'].map(key => meta.commit({ checks: [], writes: [putOne(key, '1')] })))
    await meta.remote!.getMany(['a', 'b', 'c'].map(key => ({ key: utf8(key) })))
    await meta.scan({ start: utf8('a'), end: undefined }, 10)
    const { roundTripSeconds, batchSizes } = figures
    assert.deepEqual([total(roundTripSeconds.get), total(roundTripSeconds.scan)], [1, 1])
    assert.equal(total(roundTripSeconds.commit), total(batchSizes.commit))
    assert.deepEqual([batchSizes.get.sum, batchSizes.commit.sum], [3, 3])
    const connected = figures.connects - atStart
    assert.equal(figures.connectionsOpen, connected)
    assert.equal(figures.connectionsWanted, 0)
    const cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'"
    await withAdmin(admin => admin.query(cut))
    while (figures.connectionsOpen > 0) await new Promise(resolve => setImmediate(resolve))
    await meta.get(utf8('a'))
    assert.equal(figures.connects, atStart + connected + 1)
  } finally {
    await meta.close()
    await dropTable(table)
  }
})

test('postgres: doctor judges primary, standbys, settings and clocks', { skip }, () =>
  withReplication(async ({ primary, standby, url }) => {
    const findings = await databaseFindings(url, 2)
    assert.deepEqual(
      findings.filter(({ state }) => state !== 'good'),
      [],
    )
    assert(findings.some(({ found }) => found.endsWith('is a standby')))
    await standby.kill()
    while ((await primary.query('SELECT FROM pg_stat_replication')).length > 0) {}
    const without = await databaseFindings(url, 2)
    const bad = without.filter(({ state }) => state === 'bad').map(({ check }) => check)
    assert(bad.includes('database'), bad.join())
    assert(bad.includes('standbys'), bad.join())
  }),
)

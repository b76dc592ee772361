/** The primary is lost, and a standby takes its place: no commit is lost, doubled or unseen, and nobody restarts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MetaEngine } from '../../src/meta/meta.ts'
import { openPostgresMeta } from '../../src/meta/postgres/postgres.ts'
import { utf8 } from '../../src/meta/suite-driver.ts'
import { countUnder, untilProgress } from './counting.ts'
import { canReplicate, type Replicated, withReplication } from './replicated.ts'

const skip = canReplicate ? false : 'run it through test/postgres/run.sh'

type Loss = (cluster: Replicated, progress: () => number, metas: readonly MetaEngine[]) => Promise<void>

function failover(title: string, lose: Loss): void {
  test(`postgres failover: ${title}`, { skip }, () =>
    withReplication(async cluster => {
      const metas: MetaEngine[] = []
      try {
        for (let count = 0; count < 2; count++) metas.push(await openPostgresMeta({ url: cluster.url }))
        await countUnder(metas, async progress => {
          await untilProgress(progress, 100)
          await lose(cluster, progress, metas)
        })
      } finally {
        await Promise.all(metas.map(meta => meta.close()))
      }
    }),
  )
}

failover('a killed primary', async ({ primary, standby }, progress) => {
  await primary.kill()
  await standby.promote()
  await untilProgress(progress, 100)
  // The addresses now name a standby first.
  await primary.follow(standby)
  await untilProgress(progress, 100)
  const connected = "SELECT FROM pg_stat_activity WHERE application_name = 'holdfast'"
  assert((await standby.query(connected)).length >= 2)
})

failover('a primary that hangs, and wakes up as if nothing had happened', async (cluster, progress, metas) => {
  const { primary, standby } = cluster
  await primary.hang()
  await standby.promote()
  await untilProgress(progress, 100)
  // Only a process that has seen the new primary is safe from the old one; an answer of the old one may be on its way.
  await Promise.all(metas.map(meta => meta.get(utf8('counter 0'))))
  await primary.resume()
  await untilProgress(progress, 300)
})

failover('a former primary that comes back without having been told', async ({ primary, standby }, progress) => {
  await primary.kill()
  await standby.promote()
  await untilProgress(progress, 50)
  await primary.start()
  // Nothing holds up its commits any more, so that a client which used it would succeed.
  await primary.query('ALTER SYSTEM RESET synchronous_standby_names').catch(() => {})
  await primary.query('SELECT pg_reload_conf()')
  const cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'"
  for (let round = 0; round < 5; round++) {
    await standby.query(cut)
    await untilProgress(progress, 50)
  }
})

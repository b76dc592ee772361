/**
 * Damages each record of a store in turn: objects that do not need it stay readable, those that do fail with an error,
 * and maintenance, which meets the damage too, removes nothing intact.
 */

import { Compactor } from '../../src/maintenance/compact.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import type { Entry, Meta } from '../../src/meta/meta.ts'
import { chance } from './chance.ts'
import { DamagedMeta } from './damaged-meta.ts'
import { entriesOf, metaOf } from './failing-meta.ts'
import type { Expectation } from './model.ts'
import { makeBuckets } from './perform.ts'
import { lookAtAll, scrubAll } from './rot.ts'
import { Script } from './script.ts'
import { judge, type Suite } from './suite.ts'
import { WORKLOADS } from './workloads.ts'
import { World } from './world.ts'

const UPKEEP_STEPS = 12

export interface BadRecordTotal {
  records: number
  hurt: number
  readonly problems: string[]
}

/** A store with garbage to reclaim, volumes to compact and objects of every kind. */
async function prepare(): Promise<{ world: World; expectation: Expectation }> {
  const world = await World.create(chance(1))
  const process = await world.start()
  await makeBuckets(process.store)
  const script = new Script(process)
  for (const { prepare } of WORKLOADS) await prepare?.(script)
  if (script.failed > 0) throw new Error('preparing failed')
  await world.end(process)
  return { world, expectation: script.expectation }
}

async function damageOne(
  world: World,
  expectation: Expectation,
  entry: Entry,
): Promise<{ hurt: number; problems: string[] }> {
  const problems: string[] = []
  const { store } = await world.start()
  const before = await lookAtAll(store, expectation)
  for (const label of before.wrong) problems.push(`${label} has other bytes`)
  for (const label of before.missing) problems.push(`${label} is said not to be there`)
  const { damages } = await scrubAll(store)
  if (damages === 0) problems.push('the scrubber finds nothing')
  const { context } = store
  await context.blobs.closeVolume()
  const workers = [new Reclaimer(context), new Compactor(context), new Sweeper(context)]
  for (let step = 0; step < UPKEEP_STEPS; step++) {
    for (const worker of workers) await worker.step().catch(() => undefined)
  }
  const after = await lookAtAll(store, expectation)
  const known = new Set(before.unreadable)
  for (const label of [...after.unreadable, ...after.missing, ...after.wrong]) {
    if (!known.has(label)) problems.push(`${label} was readable before maintenance`)
  }
  await context.blobs.close()
  const where = `record ${entry.key.toString('latin1', 0, 1)} ${entry.key.toString('hex')}`
  return { hurt: before.unreadable.length, problems: problems.map(problem => `${where}: ${problem}`) }
}

export async function damageEachRecord(): Promise<BadRecordTotal> {
  const { world, expectation } = await prepare()
  const entries = await entriesOf(world.records)
  const total: BadRecordTotal = { records: 0, hurt: 0, problems: [] }
  for (const entry of entries) {
    const records: Meta = new DamagedMeta(await metaOf(entries), entry.key)
    const { hurt, problems } = await damageOne(world.afterRest().withRecords(records), expectation, entry)
    total.records++
    total.hurt += hurt
    total.problems.push(...problems)
  }
  if (total.hurt === 0) total.problems.push('no damage hurt anything: the look is blind')
  return total
}

export const badRecord: Suite = {
  name: 'bad-record',
  async run() {
    const { records, hurt, problems } = await damageEachRecord()
    return judge(problems, `${records} records damaged in turn, ${hurt} versions answered with an error, 0 wrong`)
  },
}

/**
 * Every prefix of a scenario's disk calls and commits. Before each call and around each commit the power is lost, in
 * several ways, and a machine starts on the remains: it must hold all that was acknowledged by then.
 */
import type { Random } from '../../src/lib/random.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { borderDisk } from './border-disk.ts'
import { chance } from './chance.ts'
import { Lane } from './choose.ts'
import { entriesOf, metaOf } from './failing-meta.ts'
import { Expectation } from './model.ts'
import { inspect } from './nth-io.ts'
import { makeBuckets } from './perform.ts'
import { Script } from './script.ts'
import { judge, type Suite } from './suite.ts'
import { SMALL, World } from './world.ts'

const SCENARIOS = 40
const OPERATIONS = 8
const UPKEEP_STEPS = 3

const always = (fraction: number): Random => ({ fraction: () => fraction, bytes: count => Buffer.alloc(count) })

/** The fate of unsynced names and bytes in a power cut: both lost, both kept, names without bytes; or random. */
const FATES: readonly ((seed: number) => Random)[] = [
  () => always(0.99),
  () => always(0.4),
  () => always(0.1),
  seed => chance(seed, 1),
  seed => chance(seed, 2),
]

export interface PrefixTotal {
  scenarios: number
  prefixes: number
  acknowledged: number
  readonly problems: string[]
}

export const newPrefixTotal = (): PrefixTotal => ({ scenarios: 0, prefixes: 0, acknowledged: 0, problems: [] })

export async function everyPrefix(seed: number, durability: 'fsync' | 'os', total: PrefixTotal): Promise<void> {
  const world = await World.create(chance(seed))
  const expectation = new Expectation()
  let watching = false
  const border = async (): Promise<void> => {
    if (!watching) return
    const number = total.prefixes++
    const fate = FATES[(number + seed) % FATES.length]!
    // All three at one moment: nothing runs between these lines.
    const records = entriesOf(world.records)
    const after = world.afterPowerCut(fate(number))
    const expected = expectation.copy()
    watching = false
    const problems = await inspect(after.withRecords(await metaOf(await records)), expected)
    watching = true
    total.problems.push(...problems.map(problem => `scenario ${seed}, prefix ${number}: ${problem}`))
  }
  const process = await world.start({ durability, border, through: disk => borderDisk(disk, border) })
  await makeBuckets(process.store)
  const script = new Script(process, expectation)
  const lane = new Lane(0, chance(seed, 3), expectation, SMALL)
  watching = true
  const { context } = process.store
  const workers = [new Reclaimer(context), new Compactor(context)]
  for (let n = 0; n < OPERATIONS; n++) await script.run(lane.next())
  await script.attempt(() => context.blobs.closeVolume())
  for (let n = 0; n < UPKEEP_STEPS; n++) for (const worker of workers) await script.attempt(() => worker.step())
  watching = false
  await world.end(process)
  if (script.failed > 0) total.problems.push(`scenario ${seed}: ${script.failed} operations failed`)
  total.problems.push(...script.problems)
  total.scenarios++
  total.acknowledged += expectation.acknowledged
}

/** The known-bad control, for as many scenarios. */
export async function scenariosCaught(seed: number, scenarios: number): Promise<number> {
  let caught = 0
  for (let n = 0; n < scenarios; n++) {
    const total = newPrefixTotal()
    await everyPrefix(seed + n, 'os', total)
    if (total.problems.length > 0) caught++
  }
  return caught
}

export const prefix: Suite = {
  name: 'prefix',
  async run({ seed, cycles = SCENARIOS }) {
    const total = newPrefixTotal()
    for (let n = 0; n < cycles; n++) await everyPrefix(seed + n, 'fsync', total)
    const caught = await scenariosCaught(seed, 3)
    if (caught === 0) total.problems.push('the control without syncs lost nothing: the check is blind')
    const { scenarios, prefixes, acknowledged } = total
    const figures = `${scenarios} scenarios, ${prefixes} prefixes, ${acknowledged} acknowledged`
    return judge(total.problems, `${figures}; control without syncs caught in ${caught} of 3`)
  },
}

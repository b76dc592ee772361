/**
 * Every call fails once. For each workload the first disk call fails, then the second, and so on until none is left;
 * the same with commits. After each failure, acknowledged writes must survive a restart and a power cut, others must be
 * there completely or not at all, and maintenance must leave nothing behind.
 */
import type { DiskFault } from '../../src/lib/memory-disk.ts'
import { chance } from './chance.ts'
import { COMMIT_FAULTS, type CommitFault } from './failing-meta.ts'
import { audit } from './maintenance.ts'
import type { Expectation } from './model.ts'
import { observe } from './observe.ts'
import { makeBuckets } from './perform.ts'
import { Script } from './script.ts'
import { judge, type Suite } from './suite.ts'
import { WORKLOADS, type Workload } from './workloads.ts'
import { World } from './world.ts'

export type CallFault =
  | { readonly of: 'disk'; readonly fault: DiskFault }
  | { readonly of: 'commit'; readonly fault: CommitFault }

const DISK_FAULTS: readonly DiskFault[] = ['EIO', 'ENOSPC', 'short']

export const FAULTS: readonly CallFault[] = [
  ...DISK_FAULTS.map(fault => ({ of: 'disk', fault }) as const),
  ...COMMIT_FAULTS.map(fault => ({ of: 'commit', fault }) as const),
]

const CALLS_MAX = 5000

export interface NthTotal {
  runs: number
  acknowledged: number
  failed: number
  readonly problems: string[]
}

export const newNthTotal = (): NthTotal => ({ runs: 0, acknowledged: 0, failed: 0, problems: [] })

/** Checks a restarted machine. */
export async function inspect(world: World, expectation: Expectation): Promise<string[]> {
  const process = await world.start()
  const problems: string[] = []
  try {
    problems.push(...(await observe(process.store, expectation)).problems)
    problems.push(...(await audit(process.store)))
    const later = await observe(process.store, expectation)
    problems.push(...later.problems.map(problem => `after maintenance: ${problem}`))
  } catch (error) {
    problems.push(`the check itself failed: ${(error as Error).stack}`)
  }
  await world.end(process)
  return problems
}

/** One run with the n-th call failing; true when there was no n-th call. */
async function runOnce(workload: Workload, { of, fault }: CallFault, n: number, total: NthTotal): Promise<boolean> {
  const world = await World.create(chance(n))
  const process = await world.start()
  await makeBuckets(process.store)
  const script = new Script(process)
  await workload.prepare?.(script)
  const { disk } = world
  const before = of === 'disk' ? disk.calls : process.meta.commits
  if (of === 'disk') disk.failAt(n, fault)
  else process.meta.failAt(n, fault)
  await workload.run(script)
  const untouched = (of === 'disk' ? disk.calls : process.meta.commits) - before < n
  disk.failAt(0)
  const powerCut = n % 2 === 0 ? undefined : world.afterPowerCut(chance(n, 1))
  await world.end(process)
  const problems = [...script.problems, ...(await inspect(powerCut ?? world, script.expectation))]
  if (untouched && script.failed > 0) problems.push(`${script.failed} operations failed, though nothing was made to`)
  total.runs++
  total.acknowledged += script.expectation.acknowledged
  total.failed += script.failed
  const where = `${workload.name}, ${of} call ${n} ${fault}, ${powerCut === undefined ? 'restart' : 'power cut'}`
  total.problems.push(...problems.map(problem => `${where}: ${problem}`))
  return untouched
}

export async function failEachCall(
  workload: Workload,
  faults: readonly CallFault[],
  total: NthTotal,
  step = 1,
): Promise<void> {
  for (const fault of faults) {
    for (let n = 1; !(await runOnce(workload, fault, n, total)); n += step) {
      if (n > CALLS_MAX) throw new Error(`${workload.name}: no end after ${CALLS_MAX} calls`)
    }
  }
}

/** The known-bad control: without syncs the same check after a power cut must find a loss. */
export async function lossesWithoutSyncs(runs: number): Promise<number> {
  let losses = 0
  for (let n = 1; n <= runs; n++) {
    const world = await World.create(chance(n))
    const process = await world.start({ durability: 'os' })
    await makeBuckets(process.store)
    const script = new Script(process)
    const [work] = WORKLOADS
    await work!.run(script)
    const after = world.afterPowerCut(chance(n, 1))
    await world.end(process)
    if ((await inspect(after, script.expectation)).length > 0) losses++
  }
  return losses
}

export const CONTROL_RUNS = 10

export const nthIo: Suite = {
  name: 'nth-io',
  async run() {
    const total = newNthTotal()
    for (const workload of WORKLOADS) await failEachCall(workload, FAULTS, total)
    const losses = await lossesWithoutSyncs(CONTROL_RUNS)
    if (losses === 0) total.problems.push('the control without syncs lost nothing: the check is blind')
    const { runs, acknowledged, failed } = total
    const control = `control without syncs caught in ${losses} of ${CONTROL_RUNS}`
    return judge(
      total.problems,
      `${runs} runs, ${acknowledged} acknowledged, ${failed} failed as they should; ${control}`,
    )
  },
}

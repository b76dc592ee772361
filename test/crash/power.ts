/**
 * Power loss under load, on a real filesystem and a real LMDB. Each filesystem has a known-bad control: the same
 * without syncs, which the same check must catch.
 */
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { chance } from './chance.ts'
import { add, Cycles, figuresOf, newTotal, problemsOf } from './cycles.ts'
import { type Filesystem, LoopMount } from './loop-mount.ts'
import { judge, type Outcome, type Suite, type SuiteOptions } from './suite.ts'

const CYCLES = 4
const CONTROL_CYCLES_MAX = 5
const IMAGE_BYTES = 1024 * 2 ** 20
const LIFE_MS_MIN = 100
const LIFE_MS_MAX = 1500
/** The writer runs on over the dead disk for a while: anything it acknowledges now is falsely acknowledged. */
const AFTERLIFE_MS = 100

type Use = (mount: LoopMount, options: SuiteOptions) => Promise<Outcome>

async function onMount(filesystem: Filesystem, options: SuiteOptions, use: Use): Promise<Outcome> {
  const mount = LoopMount.make(filesystem, options.scratch, IMAGE_BYTES)
  if (typeof mount === 'string') return { verdict: 'skipped', text: mount }
  try {
    return await use(mount, options)
  } finally {
    await mount.dispose()
  }
}

/** Lets a writer work, cuts the power under it, and remounts the filesystem. */
async function cycle(life: Cycles, mount: LoopMount, seed: number): Promise<string | undefined> {
  const writer = life.startWriter(seed)
  await writer.said('open')
  await wait(LIFE_MS_MIN + chance(seed, 1).fraction() * (LIFE_MS_MAX - LIFE_MS_MIN))
  const early = writer.hasEnded
  mount.cutPower()
  await wait(AFTERLIFE_MS)
  const ending = await writer.kill()
  await mount.remount()
  return early ? `the writer ended before the power was cut: ${ending.stderr}` : undefined
}

const lives: Use = async (mount, { seed, cycles = CYCLES, scratch }) => {
  const life = new Cycles({ folder: join(mount.folder, 'data'), notes: scratch, durability: 'fsync' })
  const total = newTotal()
  for (let n = 1; n <= cycles && total.problems.length === 0; n++) {
    const early = await cycle(life, mount, seed * 1000 + n)
    if (early !== undefined) total.problems.push(early)
    add(total, await life.check())
  }
  return judge(total.problems, figuresOf(total))
}

const control: Use = async (mount, { seed, scratch }) => {
  for (let n = 1; n <= CONTROL_CYCLES_MAX; n++) {
    const life = new Cycles({ folder: join(mount.folder, `data-${n}`), notes: scratch, durability: 'os' })
    await cycle(life, mount, seed * 1000 + n)
    const [first, ...others] = problemsOf(await life.check())
    if (first === undefined) continue
    const text = `without syncs, caught in cycle ${n}: ${others.length + 1} problems, the first: ${first.slice(0, 200)}`
    return { verdict: 'passed', text: text.replaceAll('\n', ' ') }
  }
  return {
    verdict: 'failed',
    text: `nothing was lost without syncs in ${CONTROL_CYCLES_MAX} cycles: the check is blind`,
  }
}

const suite = (name: string, filesystem: Filesystem, use: Use): Suite => ({
  name,
  run: options => onMount(filesystem, options, use),
})

export const power: readonly Suite[] = [
  suite('power-ext4', 'ext4', lives),
  suite('power-ext4-control', 'ext4', control),
  suite('power-xfs', 'xfs', lives),
  suite('power-xfs-control', 'xfs', control),
]

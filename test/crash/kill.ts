/**
 * kill -9 under load. It shows that a process may die at any moment, even during recovery; it proves nothing about
 * syncs, since the kernel keeps the writes of a dead process.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { chance } from './chance.ts'
import { add, Cycles, figuresOf, newTotal } from './cycles.ts'
import { judge, type Suite } from './suite.ts'

const CYCLES = 12
const LIFE_MS_MAX = 2000
/** Opening takes about this long. */
const OPENING_MS_MAX = 30
const CYCLES_PER_EARLY_KILL = 4

export const kill: Suite = {
  name: 'kill',
  async run({ seed, cycles = CYCLES, scratch }) {
    const random = chance(seed)
    const folder = join(scratch, 'data')
    mkdirSync(scratch, { recursive: true })
    const life = new Cycles({ folder, notes: scratch, durability: 'fsync' })
    const total = newTotal()
    for (let cycle = 1; cycle <= cycles && total.problems.length === 0; cycle++) {
      const writer = life.startWriter(seed * 1000 + cycle)
      const early = cycle % CYCLES_PER_EARLY_KILL === 0
      await writer.said(early ? 'opening' : 'open')
      await wait(random.fraction() * (early ? OPENING_MS_MAX : LIFE_MS_MAX))
      const ending = await writer.kill()
      if (ending.signal !== 'SIGKILL')
        total.problems.push(`cycle ${cycle}: the writer ended by itself: ${ending.stderr}`)
      const report = await life.check()
      add(total, report)
      if ('failures' in report) total.problems.push(...report.failures.map(failure => `cycle ${cycle}: ${failure}`))
    }
    return judge(total.problems, figuresOf(total))
  },
}

/** `run [--cycles N] [--only NAME] [--seed N]`: the crash programme, one line per suite and the sum. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { badRecord } from './bad-record.ts'
import { bitRot } from './bit-rot.ts'
import { bitRotMeta } from './bit-rot-meta.ts'
import { diskFull } from './disk-full.ts'
import { fullStart } from './full-start.ts'
import { kill } from './kill.ts'
import { killWorkers } from './kill-workers.ts'
import { nthIo } from './nth-io.ts'
import { pages } from './pages.ts'
import { power } from './power.ts'
import { prefix } from './prefix.ts'
import type { Outcome, Suite } from './suite.ts'

const SUITES: readonly Suite[] = [
  kill,
  killWorkers,
  ...power,
  diskFull,
  ...fullStart,
  nthIo,
  pages,
  prefix,
  badRecord,
  bitRot,
  bitRotMeta,
]

const { values } = parseArgs({
  options: { cycles: { type: 'string' }, only: { type: 'string' }, seed: { type: 'string' } },
})

function whole(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new Error(`--${name} takes a whole number above zero`)
  return Number(text)
}

const seed = whole('seed', values.seed) ?? (Date.now() % 1_000_000) + 1
const cycles = whole('cycles', values.cycles)
const chosen = SUITES.filter(suite => values.only === undefined || suite.name.startsWith(values.only))
if (chosen.length === 0) throw new Error(`no such suite; there are ${SUITES.map(suite => suite.name).join(', ')}`)

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-crash-'))
const tally = { passed: 0, failed: 0, skipped: 0 }
// On exit, also by a signal: by then nothing is mounted below it.
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))
console.log(`seed ${seed}`)
for (const suite of chosen) {
  const startedAt = performance.now()
  const outcome = await attempt(suite)
  tally[outcome.verdict]++
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`${outcome.verdict} ${suite.name} (${seconds} s): ${outcome.text}`)
  for (const problem of outcome.problems ?? []) console.log(`  ${problem}`)
}
const skipped = tally.skipped > 0 ? `, ${tally.skipped} skipped` : ''
console.log(`${tally.passed} passed, ${tally.failed} failed${skipped}`)
process.exitCode = tally.failed > 0 ? 1 : 0

async function attempt(suite: Suite): Promise<Outcome> {
  try {
    return await suite.run({ seed, cycles, scratch: join(scratch, suite.name) })
  } catch (error) {
    return { verdict: 'failed', text: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

/**
 * The process that checks afterwards: `checker <folder> <journal> <expected states>`. Opens the folder as the next
 * server would, compares, runs maintenance, compares again; prints a report and writes the settled states back.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { openFolder } from '../../src/server/compose.ts'
import { compareWithCopy } from '../../src/server/second-copy.ts'
import { enginesOf } from '../engines.ts'
import { round } from '../journal/round.ts'
import { replayJournal } from './journal.ts'
import { audit } from './maintenance.ts'
import { Expectation, type Saved } from './model.ts'
import { observe } from './observe.ts'
import { makeBuckets } from './perform.ts'

export interface CheckReport {
  readonly problems: readonly string[]
  /** Operations that failed in the writer without being refused. */
  readonly failures: readonly string[]
  readonly acknowledged: number
  readonly refused: number
  /** Operations that were started and never acknowledged. */
  readonly open: number
  readonly versions: number
  readonly bytes: number
  readonly openingMs: number
}

const [folder, journal, states] = process.argv.slice(2)
const expectation = new Expectation(JSON.parse(readFileSync(states!, 'utf8')) as Saved)
const failures = replayJournal(journal!, expectation)
const open = expectation.openCount
const startedAt = performance.now()
const parts = await openFolder({ folder: folder!, ...(await enginesOf(folder!)) })
const { store, close } = parts
const openingMs = performance.now() - startedAt
// A writer killed while it opened the folder may not have created them.
await makeBuckets(store)
const first = await observe(store, expectation)
const problems = [...first.problems]
// Rows that a crash cut from the end of a journal must not look like lost records.
if (parts.copy !== undefined) problems.push(...(await compareWithCopy(parts.copy)))
if (problems.length === 0) {
  if (parts.copy !== undefined) problems.push(...(await round(parts)))
  problems.push(...(await audit(store)))
  const second = await observe(store, expectation)
  problems.push(...second.problems.map(problem => `after maintenance: ${problem}`))
}
await close()
const { acknowledged, refused } = expectation
if (problems.length === 0) writeFileSync(states!, JSON.stringify(expectation.save()))
const { versions, bytes } = first
const report: CheckReport = { problems, failures, acknowledged, refused, open, versions, bytes, openingMs }
process.stdout.write(`${JSON.stringify(report)}\n`)

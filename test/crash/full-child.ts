/**
 * The process that fills its disk: `full-child <folder>`. Bytes until there is no room, then small records until there
 * is none either; reads, deletes, and room again. One process throughout: a full disk must not end it.
 */
import { performance } from 'node:perf_hooks'
import { Fault } from '../../src/model/faults.ts'
import { openFolder } from '../../src/server/compose.ts'
import { audit, settle } from './maintenance.ts'
import { Expectation, nameOf, type Operation } from './model.ts'
import { observe } from './observe.ts'
import { makeBuckets, perform } from './perform.ts'

export interface FullReport {
  readonly problems: readonly string[]
  readonly stored: number
  readonly refusals: number
  readonly removed: number
  /** Of the removed, how many were refused while others proceeded concurrently. */
  readonly retried: number
  readonly backAfterMs: number
}

const MIB = 2 ** 20
const AT_ONCE = 64
const ROUNDS_MAX = 5000
const BACK_MS_MAX = 5000

const [folder] = process.argv.slice(2)
process.stdin.resume().on('end', () => process.exit(1))
const { store, close } = await openFolder({ folder: folder! })
const expectation = new Expectation()
const problems: string[] = []
let count = 0
let stored = 0
let refusals = 0

/** True when it was acknowledged; a refusal must be the one for a full disk, and must have no effect. */
async function attempt(operation: Operation): Promise<boolean> {
  expectation.begin(operation)
  try {
    expectation.acknowledge(operation, await perform(store, operation))
    return true
  } catch (error) {
    expectation.refuse(operation)
    refusals++
    if (!(error instanceof Fault && error.code === 'InsufficientStorage')) problems.push(`${operation.kind}: ${error}`)
    return false
  }
}

const put = (size: number): Operation => ({
  kind: 'put',
  to: { bucket: 'plain', key: `key-${++count}` },
  pieces: [{ seed: count, size }],
  sealed: false,
})

async function fill(what: string, size: (n: number) => number): Promise<void> {
  const before = stored
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => attempt(put(size(n)))))
    stored += answers.filter(Boolean).length
    if (answers.every(answer => !answer)) break
    if (round === ROUNDS_MAX - 1) problems.push(`${what}: the disk was never full`)
  }
  // Small bodies respect the reserve too: after the others there may be no room for a single one.
  if (stored === before && what === 'bytes') problems.push(`${what}: nothing was stored before the disk was full`)
}

async function look(when: string): Promise<void> {
  const seen = await observe(store, expectation)
  problems.push(...seen.problems.map(problem => `${when}: ${problem}`))
}

await makeBuckets(store)
await fill('bytes', n => (n % 2 === 0 ? 300_000 : 2 * MIB))
await look('full of bytes')
await fill('records', () => 4000)
await look('full of records')
const removals = expectation.labels().filter((_, index) => index % 4 !== 0)
let removed = 0
let retried = 0
for (let from = 0; from < removals.length; from += AT_ONCE) {
  const operations = removals.slice(from, from + AT_ONCE).map(label => ({ kind: 'remove', to: nameOf(label) }) as const)
  const answers = await Promise.all(operations.map(attempt))
  // Many deletes in one transaction may need more pages than a full engine has left; one at a time they must succeed.
  for (const [index, done] of answers.entries()) {
    if (!done) retried++
    if (done || (await attempt(operations[index]!))) removed++
  }
}
if (removed < removals.length) problems.push(`${removals.length - removed} of ${removals.length} deletes were refused`)
await settle(store).catch(error => problems.push(`maintenance: ${error}`))
const startedAt = performance.now()
let back = false
while (!back && performance.now() - startedAt < BACK_MS_MAX) back = await attempt(put(300_000))
const backAfterMs = performance.now() - startedAt
if (!back) problems.push('no put succeeded after room was made')
if (!(await attempt(put(1000)))) problems.push('no small put succeeded after room was made')
await look('after room was made')
problems.push(...(await audit(store)))
await close()
const report: FullReport = { problems, stored, refusals, removed, retried, backAfterMs }
process.stdout.write(`${JSON.stringify(report)}\n`)
process.exit(0)

/**
 * Checks a store with one bit of its metadata file flipped: `rot-child <pristine folder> <folder>`, then lines of
 * `offset bit`. Prints a verdict for each. LMDB may end this process on a damaged page: that counts. On the line
 * `rebuild` it rebuilds the metadata of the folder and reports whether everything is restored.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openFolder } from '../../src/server/compose.ts'
import { rebuildFolder } from '../../src/server/rebuild.ts'
import { compareWithCopy } from '../../src/server/second-copy.ts'
import { Expectation, type Saved } from './model.ts'
import { countsDiffer, lookAtAll, scrubAll } from './rot.ts'

/**
 * `harmless`: everything is right and nothing is found. `detected`: an operation failed with an error, or a check found
 * it. `refused`: the store does not open. `missing`: something is reported as absent, and counting or scrubbing finds
 * that. `vanished`: they do not, and the second copy does. `silent`: no check finds it.
 */
export type FlipVerdict = 'harmless' | 'refused' | 'detected' | 'missing' | 'vanished' | 'silent' | 'wrong'
export type RebuildVerdict = 'repaired' | 'not repaired'

const [pristine, folder, states] = process.argv.slice(2)
const expectation = new Expectation(JSON.parse(readFileSync(states!, 'utf8')) as Saved)

function turnBit(offset: number, bit: number): void {
  rmSync(folder!, { recursive: true, force: true })
  cpSync(pristine!, folder!, { recursive: true, filter: path => !path.endsWith('.sock') })
  const path = join(folder!, 'meta', 'data.mdb')
  const bytes = readFileSync(path)
  bytes[offset]! ^= 1 << bit
  writeFileSync(path, bytes)
}

async function verdictOf(offset: number, bit: number): Promise<FlipVerdict> {
  turnBit(offset, bit)
  const opening = await openFolder({ folder: folder! }).catch(() => undefined)
  if (opening === undefined) return 'refused'
  const { store, copy, close } = opening
  try {
    const look = await lookAtAll(store, expectation)
    if (look.wrong.length > 0) return 'wrong'
    const found = (await countsDiffer(store)) || (await scrubAll(store)).damages > 0
    const lost = await compareWithCopy(copy!)
    if (look.missing.length > 0) return found ? 'missing' : lost.length > 0 ? 'vanished' : 'silent'
    return look.unreadable.length > 0 || found || lost.length > 0 ? 'detected' : 'harmless'
  } finally {
    await close().catch(() => undefined)
  }
}

async function rebuild(): Promise<RebuildVerdict> {
  const { problems, shortcomings } = await rebuildFolder({ folder: folder!, progress() {} })
  const { store, close } = await openFolder({ folder: folder! })
  const { missing, unreadable, wrong } = await lookAtAll(store, expectation)
  await close()
  // The journal of a process that a damaged page has just ended is truncated, as expected.
  const lacking = shortcomings.filter(line => !line.includes('was cut off'))
  const isWhole = [problems, lacking, missing, unreadable, wrong].every(list => list.length === 0)
  return isWhole ? 'repaired' : 'not repaired'
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'rebuild') {
    process.stdout.write(`${await rebuild().catch(() => 'not repaired')}\n`)
    continue
  }
  const [offset, bit] = line.split(' ').map(Number) as [number, number]
  const verdict = await verdictOf(offset, bit).catch(() => 'detected')
  process.stdout.write(`${verdict}\n`)
}
process.exit(0)

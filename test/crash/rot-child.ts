/**
 * Looks at a store with one bit of its metadata file turned: `rot-child <pristine folder> <folder>`, then one line
 * `offset bit` after the other. Answers each with a verdict. LMDB may end this process on a damaged page: that counts.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openFolder } from '../../src/server/compose.ts'
import { Expectation, type Saved } from './model.ts'
import { countsDiffer, lookAtAll, scrubAll } from './rot.ts'

/**
 * `harmless`: all is right and nothing is found. `detected`: something answered with an error, or a check found it.
 * `refused`: the store does not open. `missing`: something is said not to be there, and a check finds that. `silent`:
 * no check finds it, which is known of an engine whose pages have no checksum and is counted.
 */
export type FlipVerdict = 'harmless' | 'refused' | 'detected' | 'missing' | 'silent' | 'wrong'

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
  const { store, close } = opening
  try {
    const look = await lookAtAll(store, expectation)
    if (look.wrong.length > 0) return 'wrong'
    const found = (await countsDiffer(store)) || (await scrubAll(store)).damages > 0
    if (look.missing.length > 0) return found ? 'missing' : 'silent'
    return look.unreadable.length > 0 || found ? 'detected' : 'harmless'
  } finally {
    await close().catch(() => undefined)
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [offset, bit] = line.split(' ').map(Number) as [number, number]
  const verdict = await verdictOf(offset, bit).catch(() => 'detected')
  process.stdout.write(`${verdict}\n`)
}
process.exit(0)

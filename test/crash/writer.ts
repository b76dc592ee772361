/**
 * The process that is killed: opens a folder and works on it forever, many operations at a time, with concurrent
 * maintenance. `writer <folder> <journal> <expected states> <seed> <fsync|os>`. Prints `opening` and `open`.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Compactor } from '../../src/maintenance/compact.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import { Fault } from '../../src/model/faults.ts'
import { openFolder } from '../../src/server/compose.ts'
import type { Store } from '../../src/store/store.ts'
import { enginesOf } from '../engines.ts'
import { chance } from './chance.ts'
import { Lane, mustRefuse } from './choose.ts'
import { Journal } from './journal.ts'
import { Expectation, type Saved } from './model.ts'
import { makeBuckets, perform } from './perform.ts'

const LANES = 32
const UPKEEP_PAUSE_MS = 20
const ROUNDS_BETWEEN_SEALS = 10
const MIB = 2 ** 20
const SIZES = { inlineMax: 4096, packedMax: MIB, soloMax: 2 * MIB, soloShare: 0.03, partMin: 5 * MIB }

async function work(store: Store, lane: Lane, expectation: Expectation, journal: Journal): Promise<void> {
  for (;;) {
    const operation = lane.next()
    const refusable = mustRefuse(operation, expectation.state(operation.to))
    const n = journal.begin(operation)
    expectation.begin(operation)
    try {
      const id = await perform(store, operation)
      if (refusable) throw new Error('a held version was removed')
      journal.done(n, id)
      expectation.acknowledge(operation, id)
    } catch (error) {
      if (!(refusable && error instanceof Fault && error.code === 'AccessDenied')) {
        journal.failed(n, error)
        return
      }
      journal.refused(n, error.code)
      expectation.refuse(operation)
    }
  }
}

async function maintenance(store: Store): Promise<void> {
  const { context } = store
  const workers = [new Reclaimer(context), new Compactor(context), new Sweeper(context)]
  for (let round = 1; ; round++) {
    // Only a closed volume is compacted, and nothing else would fill one in such a short life.
    if (round % ROUNDS_BETWEEN_SEALS === 0) await context.blobs.closeVolume()
    let busy = false
    for (const worker of workers) busy = (await worker.step()) === 'busy' || busy
    await wait(busy ? 0 : UPKEEP_PAUSE_MS)
  }
}

const [folder, journalPath, expectedPath, seed, durability] = process.argv.slice(2)
// The parent holds the other end: this process must not outlive it.
process.stdin.resume().on('end', () => process.exit(1))
const random = chance(Number(seed))
const expectation = new Expectation(JSON.parse(readFileSync(expectedPath!, 'utf8')) as Saved)
const journal = new Journal(journalPath!)
process.stdout.write('opening\n')
const { store } = await openFolder({
  folder: folder!,
  durability: durability as 'fsync' | 'os',
  ...(await enginesOf(folder!)),
})
await makeBuckets(store)
process.stdout.write('open\n')
const lanes = Array.from({ length: LANES }, (_, number) => new Lane(number, random, expectation, SIZES))
maintenance(store).catch(error => {
  process.stderr.write(`maintenance: ${error?.stack ?? error}\n`)
  process.exit(1)
})
await Promise.all(lanes.map(lane => work(store, lane, expectation, journal)))
process.stderr.write('every lane has failed\n')
process.exit(1)

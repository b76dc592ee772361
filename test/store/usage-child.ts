/** Changes the contents of three buckets in the given folder, printing the number of changes, until it is killed. */
import { writeSync } from 'node:fs'
import { openFolder } from '../../src/server/compose.ts'
import { chance } from './fixture.ts'
import { changeSomething } from './usage-operations.ts'

const [folder, seed] = process.argv.slice(2)
const { store } = await openFolder({ folder: folder!, durability: 'os' })

async function work(hand: number): Promise<never> {
  const random = chance(Number(seed) * 100 + hand)
  for (;;) {
    await changeSomething(store, random)
    writeSync(1, 'changed\n')
  }
}

await Promise.all(Array.from({ length: 8 }, (_, hand) => work(hand)))

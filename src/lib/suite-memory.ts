import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How much more of the heap is in use after this, garbage aside. Of V8 only. */
export async function keptBytes(act: () => unknown): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const used = async (): Promise<number> => {
    // Part of what a collection frees is collected by the next one.
    for (let round = 0; round < 3; round++) {
      await turn()
      collect()
    }
    return process.memoryUsage().heapUsed
  }
  const before = await used()
  await act()
  return (await used()) - before
}

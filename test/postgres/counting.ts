/** Increments under failures, which shows lost, doubled and unseen commits. */
import assert from 'node:assert/strict'
import type { Meta } from '../../src/meta/meta.ts'
import { putOne, utf8, utf8Text } from '../../src/meta/suite-driver.ts'

const COUNTERS = 4
const WORKERS = 16

/**
 * Workers increment counters by compare-and-set, each success leaving its own mark, while `hurt` injects failures.
 * No read may miss an acknowledged increment. Afterwards the
 * counters, the marks and the acknowledged successes must all be the same number.
 */
export async function countUnder(
  metas: readonly Meta[],
  hurt: (progress: () => number) => Promise<void>,
): Promise<void> {
  const acknowledged = new Array<number>(COUNTERS).fill(0)
  let over = false
  let failure: unknown
  const progress = (): number => {
    if (failure !== undefined) throw failure
    return acknowledged.reduce((sum, count) => sum + count, 0)
  }
  const work = async (worker: number): Promise<void> => {
    const meta = metas[worker % metas.length]!
    for (let turn = 0; !over; turn++) {
      const counter = (worker + turn) % COUNTERS
      const key = utf8(`counter ${counter}`)
      const least = acknowledged[counter]!
      const entry = await meta.get(key)
      const count = Number(entry?.value.toString() ?? 0)
      if (count < least) throw new Error(`counter ${counter} was read as ${count} after ${least} increments`)
      const next = putOne(`counter ${counter}`, String(count + 1))
      const mark = putOne(`mark ${counter} ${worker} ${turn}`, '')
      const checks = [
        { key, stamp: entry?.stamp },
        { key: mark.key, stamp: undefined },
      ]
      if (await meta.commit({ checks, writes: [next, mark] })) acknowledged[counter]!++
    }
  }
  const workers = Array.from({ length: WORKERS }, (_, worker) =>
    work(worker).catch(error => {
      failure ??= error
    }),
  )
  try {
    await hurt(progress)
  } finally {
    over = true
    await Promise.all(workers)
  }
  progress()
  for (const [counter, count] of acknowledged.entries()) {
    assert.equal(Number(await utf8Text(metas[0]!, `counter ${counter}`)), count, `counter ${counter}`)
    const marks = await metas[0]!.scan({ start: utf8(`mark ${counter} `), end: utf8(`mark ${counter}!`) }, 1e6)
    assert.equal(marks.length, count, `marks of counter ${counter}`)
  }
}

/** Resolves after this many more successes, so that no test depends on time. */
export async function untilProgress(progress: () => number, by: number): Promise<void> {
  const goal = progress() + by
  while (progress() < goal) await new Promise(resolve => setImmediate(resolve))
}

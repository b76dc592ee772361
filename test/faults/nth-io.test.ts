/** The quick part of the crash programme's nth-io suite; the whole runs with `npm run test:crash`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CallFault, failEachCall, lossesWithoutSyncs, newNthTotal } from '../crash/nth-io.ts'
import { WORKLOADS } from '../crash/workloads.ts'

/** A failed call and an unknown outcome: each takes a different path through the code. */
const FAULTS: readonly CallFault[] = [
  { of: 'disk', fault: 'EIO' },
  { of: 'commit', fault: 'applied' },
]

/** Odd, so that restarts and power cuts alternate. */
const CALL_STEP = 3

for (const workload of WORKLOADS) {
  test(`${workload.name}: whichever of some calls fails, nothing acknowledged is lost and nothing leaks`, async () => {
    const total = newNthTotal()
    await failEachCall(workload, FAULTS, total, CALL_STEP)
    assert.deepEqual(total.problems, [])
    assert(total.failed > 0, 'some calls failed')
    assert(total.acknowledged > 0, 'some were acknowledged all the same')
  })
}

test('control: without syncs the same check finds losses', async () => {
  const losses = await lossesWithoutSyncs(5)
  assert(losses >= 3, `${losses} of 5`)
})

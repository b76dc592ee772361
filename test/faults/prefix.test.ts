/** The quick part of the crash programme's prefix suite; the whole runs with `npm run test:crash`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyPrefix, newPrefixTotal, scenariosCaught } from '../crash/prefix.ts'

test('a power cut before any call loses nothing that was acknowledged by then', async () => {
  const total = newPrefixTotal()
  for (const seed of [11, 12, 13]) await everyPrefix(seed, 'fsync', total)
  assert.deepEqual(total.problems, [])
  assert(total.prefixes > 100 && total.acknowledged > 20)
})

test('control: without syncs the same check finds losses', async () => {
  assert((await scenariosCaught(11, 2)) > 0)
})

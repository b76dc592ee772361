/** The quick part of the crash programme's bit-rot suites; the whole runs with `npm run test:crash`. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { damageEachRecord } from '../crash/bad-record.ts'
import { hurtOnce, newRotTotal } from '../crash/bit-rot.ts'
import { chance } from '../crash/chance.ts'
import { build } from '../crash/rot.ts'

test('any damaged record causes errors, never wrong bytes, and maintenance damages nothing else', async () => {
  const { problems, records, hurt } = await damageEachRecord()
  assert.deepEqual(problems, [])
  assert(records > 30 && hurt > 10)
})

test('damaged files cause errors, are reported by the scrubber, and maintenance damages nothing else', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-damage-'))
  try {
    const pristine = join(scratch, 'pristine')
    const expectation = await build(pristine)
    const total = newRotTotal()
    for (let n = 1; n <= 6; n++) await hurtOnce(pristine, join(scratch, 'data'), expectation, chance(3, n), total)
    assert.deepEqual(total.problems, [])
    assert(total.hurtVersions > 0)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
})

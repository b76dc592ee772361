import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newReport } from './sorting.ts'
import { churn, inFolder, openCopied, rowsInCopy, rowsInEngine } from './suite-copy.ts'

test('journals alone hold every row, after puts, deletes, conflicts and several starts', () =>
  inFolder(async folder => {
    for (const salt of ['first', 'second', 'third']) {
      const { meta, close } = await openCopied(folder)
      await churn(meta, 30, salt)
      const rows = await rowsInEngine(meta)
      await close()
      const report = newReport()
      assert.ok(rows.size > 10)
      assert.deepEqual(await rowsInCopy(folder, report), rows)
      assert.deepEqual([report.lost, report.cut, report.damaged], [0, [], []])
    }
  }))

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { test } from 'node:test'
import { realDisk } from '../../lib/disk.ts'
import { META_LIMITS } from '../meta.ts'
import { utf8 } from '../suite-driver.ts'
import { filesIn } from './files.ts'
import { mergeHistories } from './merge.ts'
import { newReport, sortedRuns } from './sort-journals.ts'
import { inFolder, openCopied, putValue, rowsInCopy, rowsInEngine, suiteCopyFolder } from './suite-copy.ts'

const COMMITS = 100
const KEYS = 8

test('rows beyond the memory limit are spilled completely, without overwritten values', () =>
  inFolder(async folder => {
    const { meta, close } = await openCopied(folder)
    for (let n = 0; n < COMMITS; n++) {
      const value = Buffer.alloc(META_LIMITS.valueBytesMax, `${n} `)
      await meta.commit({
        checks: [],
        writes: Array.from({ length: KEYS }, (_, i) => ({ key: utf8(`k${i}`), value })),
      })
    }
    const rows = await rowsInEngine(meta)
    const middle = { generation: 1, txn: meta.lastTransaction() - COMMITS / 2, seq: 0 }
    const last = { generation: 1, txn: meta.lastTransaction(), seq: 0 }
    await close()
    const place = suiteCopyFolder(folder)
    const since = { generation: 0, txn: 0, seq: 0 }
    const files = await filesIn(realDisk, place)
    const spilled = async (settled: typeof last): Promise<[number, number]> => {
      const { runs, paths } = await sortedRuns(realDisk, place, files, { since, settled, report: newReport() })
      let count = 0
      for await (const some of mergeHistories(runs)) for (const history of some) count += history.rows.length
      assert.equal(paths.length, 1)
      const size = statSync(paths[0]!).size
      await realDisk.remove(paths[0]!)
      return [count, size]
    }
    const [count, size] = await spilled(last)
    assert.equal(count, COMMITS * KEYS)
    assert.ok(size < 2 * KEYS * META_LIMITS.valueBytesMax, `${size} bytes`)
    // The engine may already show rows that are later than the comparison.
    assert.ok((await spilled(middle))[1] > 10 * size)
    assert.deepEqual(await rowsInCopy(folder), rows)
  }))

test('of a frequently written key some writes are kept, and the key is marked as thinned', () =>
  inFolder(async folder => {
    const { meta, close } = await openCopied(folder)
    const writes = 3_000
    for (let n = 0; n < writes; n++) await putValue(meta, n % 100 === 0 ? 'now and then' : 'hot', `value ${n}`)
    const last = { generation: 1, txn: meta.lastTransaction(), seq: 0 }
    await close()
    const place = suiteCopyFolder(folder)
    const known = async (settled: typeof last) => {
      const report = newReport()
      const files = await filesIn(realDisk, place)
      const since = { generation: 0, txn: 0, seq: 0 }
      const { runs } = await sortedRuns(realDisk, place, files, { since, settled, report })
      const rows = new Map<string, string[]>()
      for await (const some of mergeHistories(runs)) {
        for (const history of some)
          rows.set(
            `${history.key}`,
            history.rows.map(row => `${row.value}`),
          )
      }
      return { hot: rows.get('hot')!, rare: rows.get('now and then')!, report }
    }
    const { hot, rare, report } = await known(last)
    assert.ok(hot.length < 500, `${hot.length} rows`)
    assert.deepEqual([hot.at(-1), rare.length], [`value ${writes - 1}`, writes / 100])
    assert.deepEqual([report.thinned.mayHave(utf8('hot')), report.thinned.mayHave(utf8('now and then'))], [true, false])
    // The engine may already show rows that are later than the comparison.
    assert.equal((await known({ ...last, txn: 0 })).hot.length, writes - writes / 100)
  }))

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realDisk } from '../../lib/disk.ts'
import type { JournaledEngine } from '../meta.ts'
import { compare } from './compare.ts'
import { newReport } from './sort-journals.ts'
import { churn, inFolder, openCopied, putValue, rowsInCopy, rowsInEngine, suiteCopyFolder } from './suite-copy.ts'

test('journals alone contain every record after puts, deletes, conflicts and several starts', () =>
  inFolder(async folder => {
    for (const salt of ['first', 'second', 'third']) {
      const { meta, close } = await openCopied(folder)
      await churn(meta, 30, salt)
      const rows = await rowsInEngine(meta)
      await close()
      const report = newReport()
      assert.ok(rows.size > 10)
      assert.deepEqual(await rowsInCopy(folder, report), rows)
      assert.deepEqual([report.lost, report.unfinished, report.damaged], [0, [], []])
    }
  }))

/** Models a flipped bit in a branch page: a lookup misses this record, a scan finds it. */
function hiding(engine: JournaledEngine, hidden: string): JournaledEngine {
  const snapshot: JournaledEngine['snapshot'] = async () => {
    const real = await engine.snapshot()
    return { ...real, has: key => key.toString() !== hidden && real.has(key) }
  }
  return new Proxy(engine, {
    get: (target, name) => (name === 'snapshot' ? snapshot : Reflect.get(target, name).bind(target)),
  })
}

test('a record that a scan finds and a lookup misses is a finding', () =>
  inFolder(async folder => {
    const { meta, close } = await openCopied(folder)
    for (const name of ['a', 'b', 'c']) await putValue(meta, name, 'x')
    for (const [engine, found] of [
      [meta, []],
      [hiding(meta, 'b'), ['damaged b']],
    ] as const) {
      const looked = await compare({ engine, disk: realDisk, folder: suiteCopyFolder(folder), generation: 1 })
      const names: string[] = []
      for await (const page of looked.entries()) names.push(...page.map(({ key }) => key.toString()))
      assert.deepEqual(names, ['a', 'b', 'c'])
      const told = looked.findings.listed.map(({ kind, key }) => `${kind} ${key.toString()}`)
      assert.deepEqual(told, found)
      await looked.end()
    }
    await close()
  }))

/** An incomplete journal is detected by the next comparison. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realDisk } from '../../lib/disk.ts'
import { systemRandom } from '../../lib/random.ts'
import { openLmdbMeta } from '../lmdb/lmdb.ts'
import type { CommitJournal, JournaledEngine, Minitransaction } from '../meta.ts'
import { compare } from './compare.ts'
import { Journal } from './journal.ts'
import { CopyKeeper } from './keeper.ts'
import { inFolder, metaFolder, openCopied, putValue, rowsInCopy, suiteCopyFolder } from './suite-copy.ts'

async function findings(folder: string): Promise<string[]> {
  const { meta: engine, journal, close } = await openCopied(folder)
  const place = suiteCopyFolder(folder)
  const comparison = await compare({ engine, disk: realDisk, folder: place, generation: journal.generation })
  for await (const _ of comparison.entries());
  await comparison.end()
  await close()
  return comparison.findings.listed.map(({ kind, key }) => `${kind} ${key}`)
}

/** A store with a snapshot, then a process whose journal omits writes of `forgets`. */
async function withForgetful(folder: string, forgets: string): Promise<string[]> {
  const first = await openCopied(folder)
  const place = suiteCopyFolder(folder)
  for (const name of ['a', 'b', 'c']) await putValue(first.meta, name, 'old')
  const parts = { engine: first.meta, disk: realDisk, folder: place, random: systemRandom }
  const keeper = new CopyKeeper({ ...parts, journal: first.journal, onEvent() {} })
  keeper.begin()
  while ((await keeper.step()) === 'busy');
  await first.close()
  const meta = await openLmdbMeta({ path: metaFolder(folder) })
  const journal = await Journal.open({
    ...{ disk: realDisk, folder: place, generation: 2, random: systemRandom },
    ...{ durability: 'fsync' as const, lastStamp: meta.lastStamp() },
  })
  const forgetful: CommitJournal = {
    begin: (writes, stamp) => journal.begin(writes, stamp),
    noteOf: (mark, writes) => journal.noteOf(mark, writes),
    aborted: mark => journal.aborted(mark),
    committed: (mark, txn, writes) => {
      if (!writes.some(({ key, value }) => `${key} ${value === undefined ? 'deleted' : 'put'}` === forgets)) {
        journal.committed(mark, txn, writes)
      }
    },
  }
  meta.attachJournal(forgetful)
  await putValue(meta, 'a', 'new')
  await putValue(meta, 'b', undefined)
  await putValue(meta, 'd', 'new')
  await putValue(meta, 'e', 'the last one')
  await meta.close()
  await journal.close()
  return findings(folder)
}

test('a complete journal yields no findings', () =>
  inFolder(async folder => assert.deepEqual(await withForgetful(folder, 'nothing'), [])))

test('a journal that omits a delete is detected', () =>
  inFolder(async folder => assert.deepEqual(await withForgetful(folder, 'b deleted'), ['missing b'])))

test('a journal that omits an overwrite is detected', () =>
  inFolder(async folder => assert.deepEqual(await withForgetful(folder, 'a put'), ['outdated a'])))

test('a journal that omits a new record is detected', () =>
  inFolder(async folder => assert.deepEqual(await withForgetful(folder, 'd put'), ['outdated d'])))

test('the last commit of a killed process is no finding, although its journal lacks it', () =>
  inFolder(async folder => assert.deepEqual(await withForgetful(folder, 'e put'), [])))

test('a transaction that is not visible yet is neither reported as lost nor omitted', () =>
  inFolder(async folder => {
    const { meta, journal, close } = await openCopied(folder)
    const place = suiteCopyFolder(folder)
    const told: string[] = []
    const round = async (engine: JournaledEngine): Promise<void> => {
      const parts = { engine, journal, disk: realDisk, folder: place, random: systemRandom }
      const keeper = new CopyKeeper({ ...parts, onEvent: ({ what }) => told.push(what) })
      keeper.begin()
      while ((await keeper.step()) === 'busy');
    }
    await putValue(meta, 'a', 'old')
    await round(meta)
    // LMDB counts a transaction as soon as its root is written, and shows it once that is synced.
    const before = await meta.snapshot()
    await putValue(meta, 'a', 'new')
    const engine: JournaledEngine = Object.create(meta, {
      snapshot: { value: async () => before },
      lastTransaction: { value: () => meta.lastTransaction() },
      statistics: { value: () => meta.statistics!() },
      commit: { value: (tx: Minitransaction) => meta.commit(tx) },
    })
    await round(engine)
    await journal.settle()
    assert.equal((await rowsInCopy(folder)).get('a'), 'new')
    await round(meta)
    assert.deepEqual(told, [])
    await close()
  }))

/** Journals during open findings: they stay bounded, and keep what rebuild needs. */
import assert from 'node:assert/strict'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Disk, realDisk } from '../../lib/disk.ts'
import { META_LIMITS, type Meta } from '../meta.ts'
import { utf8 } from '../suite-driver.ts'
import { LISTED_MAX } from './compare.ts'
import { newReport } from './sort-journals.ts'
import { inFolder, openCopied, putValue, rowsInCopy, rowsInEngine, suiteCopyFolder } from './suite-copy.ts'
import { behindItsBack, filesOf, findingsOf, once, type Rounded, rounds } from './suite-rounds.ts'

const CONDENSED = /-000000000000-\d{6}\.journal$/

const journalBytes = (folder: string): number =>
  filesOf(folder, '.journal').reduce((sum, name) => sum + statSync(join(suiteCopyFolder(folder), name)).size, 0)

const told = ({ events }: Rounded): string[] => events.map(({ what }) => what)

/** Writes more to few keys than condensing leaves alone. */
async function busy(meta: Meta, salt: string, valueBytes = META_LIMITS.valueBytesMax / 16): Promise<void> {
  for (let n = 0; n < 100; n++) {
    const value = Buffer.alloc(valueBytes, `${salt} ${n} `)
    await meta.commit({ checks: [], writes: Array.from({ length: 8 }, (_, k) => ({ key: utf8(`busy${k}`), value })) })
  }
}

const BASE = { lost: '1', older: '1', kept: '1', deleted: '1' }

/** A snapshot, then a lost record. */
async function withFinding(folder: string): Promise<void> {
  await once(folder, async ({ meta }) => {
    for (const [key, value] of Object.entries(BASE)) await putValue(meta, key, value)
  })
  await behindItsBack(folder, { lost: undefined })
}

test('while findings stand journals stay bounded, findings persist, and the copy is complete', () =>
  inFolder(async folder => {
    await withFinding(folder)
    let condensed = 0
    const copied = await openCopied(folder)
    const next = rounds(folder, copied)
    for (let turn = 0; turn < 4; turn++) {
      await putValue(copied.meta, `passing${turn}`, 'value')
      await busy(copied.meta, `turn ${turn}`)
      await putValue(copied.meta, `passing${turn}`, undefined)
      await putValue(copied.meta, 'deleted', undefined)
      const rounded = await next()
      assert.deepEqual(findingsOf(rounded), ['missing lost'])
      condensed += told(rounded).filter(what => what === 'condensed').length
      assert.ok(journalBytes(folder) < 110e6 / 16, `${journalBytes(folder)} bytes of journals in turn ${turn}`)
      assert.equal(rounded.keeper.state.journalBytes, journalBytes(folder))
    }
    assert.ok(condensed >= 2, `condensed ${condensed} times`)
    const rows = new Map([...(await rowsInEngine(copied.meta)), ['lost', '1']])
    await copied.close()
    const report = newReport()
    assert.deepEqual(new Map([...(await rowsInCopy(folder, report))].sort()), new Map([...rows].sort()))
    assert.deepEqual([report.damaged, report.lost], [[], 0])
    assert.deepEqual(findingsOf(await once(folder, async () => {})), ['missing lost'])
    assert.equal(filesOf(folder, '.snapshot').length, 1)
    assert.deepEqual([...filesOf(folder, '.run'), ...filesOf(folder, '.new')], [])
  }))

test('deletions of keys that no other file contains are dropped, others are kept', () =>
  inFolder(async folder => {
    await withFinding(folder)
    const copied = await openCopied(folder)
    await putValue(copied.meta, 'passing', 'value')
    await putValue(copied.meta, 'passing', undefined)
    await putValue(copied.meta, 'deleted', undefined)
    await busy(copied.meta, 'one')
    await copied.close()
    assert.deepEqual(told(await once(folder, async () => {})), ['findings', 'condensed'])
    const [name] = filesOf(folder, '.journal').filter(name => CONDENSED.test(name))
    const content = readFileSync(join(suiteCopyFolder(folder), name!))
    assert.equal(content.indexOf('passing'), -1)
    assert.ok(content.indexOf('deleted') >= 0)
    assert.ok(content.length < 1e6)
    assert.equal((await rowsInCopy(folder)).get('deleted'), undefined)
  }))

test('a deletion is kept while the file of a running process contains the key', () =>
  inFolder(async folder => {
    await withFinding(folder)
    const living = await openCopied(folder)
    const next = rounds(folder, living)
    await putValue(living.meta, 'early', 'value')
    await living.journal.settle()
    /** Another process of the same generation, with later transactions. */
    const other = async (work: (meta: Meta) => Promise<unknown>): Promise<void> => {
      const copied = await openCopied(folder, { generation: living.journal.generation })
      await work(copied.meta)
      await copied.close()
    }
    await other(async meta => {
      await putValue(meta, 'early', undefined)
      await putValue(meta, 'passing', 'value')
      await putValue(meta, 'passing', undefined)
      // The last one may not be visible to readers yet.
      for (const value of ['2', '3']) await putValue(meta, 'kept', value)
    })
    assert.deepEqual(told(await next()), ['findings'])
    await other(meta => busy(meta, 'one'))
    assert.deepEqual(told(await next()), ['findings', 'condensed'])
    assert.equal((await rowsInCopy(folder)).get('early'), undefined)
    const [name] = filesOf(folder, '.journal').filter(name => CONDENSED.test(name))
    assert.equal(readFileSync(join(suiteCopyFolder(folder), name!)).indexOf('passing'), -1)
    assert.deepEqual(findingsOf(await next()), ['missing lost'])
    await living.close()
  }))

test('an outdated note does not explain a later loss, even when its journal is gone', () =>
  inFolder(async folder => {
    await withFinding(folder)
    const copied = await openCopied(folder)
    await putValue(copied.meta, 'kept', undefined)
    await putValue(copied.meta, 'kept', 'again')
    await busy(copied.meta, 'one')
    await copied.close()
    await behindItsBack(folder, { kept: undefined })
    const both = ['missing kept', 'missing lost']
    const first = await once(folder, async () => {})
    assert.deepEqual([findingsOf(first), told(first)], [both, ['findings', 'condensed']])
    assert.deepEqual(findingsOf(await once(folder, async () => {})), both)
    assert.equal((await rowsInCopy(folder)).get('kept'), 'again')
  }))

/**
 * An older `data.mdb` is restored, in which this key is at 3 and not at 4, and the journal that shows this has a
 * flipped bit elsewhere. Returns the name of that journal.
 */
async function putBack(folder: string, key: string): Promise<string> {
  const file = join(folder, 'meta', 'data.mdb')
  const before = await openCopied(folder)
  for (const value of ['2', '3']) await putValue(before.meta, key, value)
  await before.close()
  const old = readFileSync(file)
  const after = await openCopied(folder)
  // Settled, so that files and frames do not depend on the speed of the disk: full files, then one with two frames.
  await busy(after.meta, 'before')
  await after.journal.settle()
  await putValue(after.meta, key, '4')
  await after.journal.settle()
  await busy(after.meta, 'one', 500)
  await after.close()
  const journal = filesOf(folder, '.journal').at(-1)!
  const damaged = join(suiteCopyFolder(folder), journal)
  const content = readFileSync(damaged)
  const flipped = content.indexOf('one 99 ')
  assert.ok(flipped > content.indexOf(key) && content.includes(key))
  content[flipped + 3]! ^= 1
  writeFileSync(damaged, content)
  writeFileSync(file, old)
  return journal
}

test('an older state is found after condensing, even when a journal is damaged', () =>
  inFolder(async folder => {
    await withFinding(folder)
    const journal = await putBack(folder, 'older')
    for (let n = 0; n < 2; n++) {
      const found = findingsOf(await once(folder, async () => {}))
      assert.ok(found.includes('outdated older') && found.includes('missing lost'), `${found}`)
    }
    assert.ok(filesOf(folder, '.journal').includes(journal), 'what is damaged is kept')
    assert.ok(filesOf(folder, '.journal').some(name => CONDENSED.test(name)))
    assert.equal((await rowsInCopy(folder)).get('older'), '4')
  }))

test('any number of findings persists through condensing, even when a journal is damaged', () =>
  inFolder(async folder => {
    // More than are named, with the older state after all of them.
    const lost = Array.from({ length: LISTED_MAX + 100 }, (_, n) => `lost${n}`)
    await once(folder, async ({ meta }) => {
      const writes = [...lost, 'zz'].map(key => ({ key: utf8(key), value: utf8('1') }))
      for (let at = 0; at < writes.length; at += 100)
        await meta.commit({ checks: [], writes: writes.slice(at, at + 100) })
    })
    await behindItsBack(folder, Object.fromEntries(lost.map(key => [key, undefined])))
    await putBack(folder, 'zz')
    const counts: number[] = []
    for (let n = 0; n < 3; n++) {
      const rounded = await once(folder, async () => {})
      counts.push(rounded.keeper.state.findings)
      if (n === 0) assert.deepEqual(told(rounded), ['copy damaged', 'findings', 'condensed'])
    }
    assert.ok(counts[0]! > lost.length, `${counts[0]} findings`)
    assert.deepEqual(counts, [counts[0], counts[0], counts[0]])
    assert.equal((await rowsInCopy(folder)).get('zz'), '4')
  }))

test('a note of a process that starts its next file during a round is kept', () =>
  inFolder(async folder => {
    await withFinding(folder)
    const copied = await openCopied(folder)
    await putValue(copied.meta, 'kept', '2')
    await busy(copied.meta, 'one')
    await copied.journal.settle()
    const last = filesOf(folder, '.journal').at(-1)!
    let isOpened = false
    const disk: Disk = {
      ...realDisk,
      async open(path, how) {
        if (how === 'read' && path.endsWith(last) && !isOpened) {
          isOpened = true
          await busy(copied.meta, 'two')
          await copied.journal.settle()
        }
        return realDisk.open(path, how)
      },
      async rename(from, to) {
        if (CONDENSED.test(to)) await putValue(copied.meta, 'kept', undefined)
        return realDisk.rename(from, to)
      },
    }
    assert.deepEqual(told(await rounds(folder, copied, disk)()), ['findings', 'condensed'])
    assert.ok(isOpened)
    await copied.close()
    // The power fails before the deletion is durable.
    const journal = join(suiteCopyFolder(folder), filesOf(folder, '.journal').at(-1)!)
    const content = readFileSync(journal)
    assert.ok(content.lastIndexOf('kept') > 0)
    writeFileSync(journal, content.subarray(0, content.lastIndexOf('kept')))
    assert.deepEqual(findingsOf(await once(folder, async () => {})), ['missing lost'])
  }))

test('condensed journals are kept while the older of two snapshots needs them', () =>
  inFolder(async folder => {
    await withFinding(folder)
    await behindItsBack(folder, { lost: '1' })
    // Before the second snapshot, and the last of all keys.
    await once(folder, async ({ meta }) => {
      for (const key of ['zz', 'a', 'b']) await putValue(meta, key, '1')
    })
    assert.equal(filesOf(folder, '.snapshot').length, 2)
    const copied = await openCopied(folder)
    await putValue(copied.meta, 'kept', '2')
    await busy(copied.meta, 'one')
    await copied.close()
    await behindItsBack(folder, { lost: undefined })
    assert.deepEqual(told(await once(folder, async () => {})), ['findings', 'condensed'])
    const cured = await once(folder, async ({ meta }) => {
      await putValue(meta, 'lost', '1')
    })
    assert.deepEqual(told(cured), ['sound'])
    rmSync(join(suiteCopyFolder(folder), filesOf(folder, '.snapshot').at(-1)!))
    assert.equal((await rowsInCopy(folder)).get('kept'), '2')
  }))

test('condensing that would fill the disk is skipped and reported', () =>
  inFolder(async folder => {
    await withFinding(folder)
    const copied = await openCopied(folder)
    await busy(copied.meta, 'one')
    await busy(copied.meta, 'two')
    await copied.close()
    const before = filesOf(folder, '.journal')
    // The copied records are far fewer, so there is space to compare them.
    const free = 64 * 2 ** 20 + 1.5 * journalBytes(folder)
    const again = await openCopied(folder)
    const next = rounds(folder, again, { ...realDisk, free: async () => free })
    assert.deepEqual(told(await next()), ['findings', 'no room'])
    await again.close()
    assert.deepEqual(filesOf(folder, '.journal').slice(0, before.length), before)
    assert.deepEqual(filesOf(folder, '.run'), [])
  }))

test('run files are removed when the disk is full', () =>
  inFolder(async folder => {
    await withFinding(folder)
    const copied = await openCopied(folder)
    // Enough to be sorted in several runs, and settled in between: a journal that a slow disk holds up drops rows.
    for (let turn = 0; turn < 8; turn++) {
      await busy(copied.meta, `turn ${turn}`, META_LIMITS.valueBytesMax / 4)
      await copied.journal.settle()
    }
    await copied.close()
    const again = await openCopied(folder)
    const full: Disk = {
      ...realDisk,
      async open(path, how) {
        const isSecond = /\/over-1\.run$/.test(path)
        if (isSecond) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
        return realDisk.open(path, how)
      },
    }
    await assert.rejects(rounds(folder, again, full)(), /no space left/)
    await again.close()
    assert.deepEqual([...filesOf(folder, '.run'), ...filesOf(folder, '.new')], [])
  }))

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Disk, realDisk } from '../../lib/disk.ts'
import { openLmdbMeta } from '../lmdb/lmdb.ts'
import { ENGINE_KEYS, META_LIMITS } from '../meta.ts'
import { ALL, utf8 } from '../suite-driver.ts'
import { newReport } from './sort-journals.ts'
import {
  churn,
  inFolder,
  metaFolder,
  openCopied,
  putValue,
  rowsInCopy,
  rowsInEngine,
  suiteCopyFolder,
} from './suite-copy.ts'
import { behindItsBack, filesOf, findingsOf, once, round, rounds } from './suite-rounds.ts'

test('rounds keep two snapshots and later journals, and the copy equals the engine', () =>
  inFolder(async folder => {
    for (const salt of ['a', 'b', 'c', 'd']) {
      const { keeper, events } = await once(folder, ({ meta }) => churn(meta, 5, salt))
      assert.deepEqual(events, [])
      assert.ok(keeper.state.rows > 10)
      const copied = await openCopied(folder)
      await churn(copied.meta, 2, `${salt} later`)
      const rows = await rowsInEngine(copied.meta)
      await copied.close()
      assert.deepEqual(await rowsInCopy(folder), rows)
    }
    assert.equal(filesOf(folder, '.snapshot').length, 2)
    const generations = new Set(filesOf(folder, '.journal').map(name => Number(name.slice(0, 8))))
    assert.ok(Math.min(...generations) >= 5, `journals of ${[...generations]} are left`)
    assert.deepEqual(filesOf(folder, '.new'), [])
  }))

test('a lost record is reported, and the copy keeps it', () =>
  inFolder(async folder => {
    await once(folder, async ({ meta }) => {
      for (const name of ['kept', 'lost', 'deleted']) await putValue(meta, name, 'value')
    })
    const before = filesOf(folder, '.snapshot')
    await behindItsBack(folder, { lost: undefined })
    const rounded = await once(folder, async ({ meta }) => {
      await putValue(meta, 'deleted', undefined)
      await putValue(meta, 'new', 'value')
    })
    assert.deepEqual(findingsOf(rounded), ['missing lost'])
    assert.equal(rounded.keeper.state.findings, 1)
    assert.deepEqual(filesOf(folder, '.snapshot'), before)
    assert.deepEqual([...(await rowsInCopy(folder)).keys()], ['kept', 'lost', 'new'])
    // A second round: a reported loss does not become the accepted state.
    assert.deepEqual(findingsOf(await once(folder, async () => {})), ['missing lost'])
  }))

test('a loss is durable before the round continues, so that the next start frees nothing', () =>
  inFolder(async folder => {
    await once(folder, async ({ meta }) => void (await putValue(meta, 'lost', 'value')))
    await behindItsBack(folder, { lost: undefined })
    const copied = await openCopied(folder)
    const place = suiteCopyFolder(folder)
    const calls: string[] = []
    const disk: Disk = {
      ...realDisk,
      async open(path, how) {
        if (how === 'create') calls.push(path)
        return realDisk.open(path, how)
      },
      async syncFolder(path) {
        calls.push(path)
        await realDisk.syncFolder(path)
      },
    }
    assert.deepEqual(findingsOf(await rounds(folder, copied, disk)()), ['missing lost'])
    await copied.close()
    const found = calls.indexOf(join(place, 'findings'))
    assert.ok(found >= 0)
    assert.equal(calls[found + 1], place)
  }))

test('within one run a loss is reported, and journals covered by two snapshots are removed', () =>
  inFolder(async folder => {
    const copied = await openCopied(folder)
    const value = Buffer.alloc(META_LIMITS.valueBytesMax, 'v')
    const writes = Array.from({ length: 8 }, (_, n) => ({ key: utf8(`k${n}`), value }))
    const segments = new Set<string>()
    for (let turn = 0; turn < 3; turn++) {
      for (let n = 0; n < 50; n++) await copied.meta.commit({ checks: [], writes })
      assert.deepEqual((await round(folder, copied)).events, [])
      for (const name of filesOf(folder, '.journal')) segments.add(name)
    }
    const left = filesOf(folder, '.journal')
    assert.ok(segments.size >= 3 && left.length < segments.size, `${left.length} of ${segments.size} are left`)
    await putValue(copied.meta, 'young', 'value')
    await copied.journal.settle()
    await behindItsBack(folder, { young: undefined })
    assert.deepEqual(findingsOf(await round(folder, copied)), ['missing young'])
    await copied.close()
  }))

test('a lost record that only journals contain is reported, even after delete and rewrite', () =>
  inFolder(async folder => {
    await once(folder, ({ meta }) => putValue(meta, 'base', 'value').then(() => {}))
    const copied = await openCopied(folder)
    await putValue(copied.meta, 'young', 'one')
    await putValue(copied.meta, 'young', undefined)
    await putValue(copied.meta, 'young', 'two')
    await copied.close()
    await behindItsBack(folder, { young: undefined })
    assert.deepEqual(findingsOf(await once(folder, async () => {})), ['missing young'])
    assert.equal((await rowsInCopy(folder)).get('young'), 'two')
  }))

test('an older state in the engine is reported', () =>
  inFolder(async folder => {
    await once(folder, ({ meta }) => putValue(meta, 'a', 'old').then(() => {}))
    const file = join(metaFolder(folder), 'data.mdb')
    const old = readFileSync(file)
    await once(folder, ({ meta }) => putValue(meta, 'a', 'new').then(() => {}))
    writeFileSync(file, old)
    assert.deepEqual(findingsOf(await once(folder, async () => {})), ['outdated a'])
    assert.equal((await rowsInCopy(folder)).get('a'), 'new')
  }))

/** Rejects writes to journals after their head while `isFull`. */
function fullDisk(): { disk: Disk; isFull: boolean } {
  const out = { isFull: false, disk: realDisk }
  out.disk = {
    ...realDisk,
    async open(path, how) {
      const file = await realDisk.open(path, how)
      return {
        write: async (pieces, position) => {
          if (out.isFull) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
          await file.write(pieces, position)
        },
        read: (into, position) => file.read(into, position),
        datasync: () => file.datasync(),
        size: () => file.size(),
        close: () => file.close(),
      }
    },
  }
  return out
}

test('a journal tail lost in a crash is no finding: deletions are noted in the engine', () =>
  inFolder(async folder => {
    await once(folder, ({ meta }) => churn(meta, 5, 'base'))
    const full = fullDisk()
    const cut = await openCopied(folder, full)
    await putValue(cut.meta, 'witness', 'in the journal')
    await cut.journal.settle()
    full.isFull = true
    await churn(cut.meta, 5, 'lost')
    const rows = await rowsInEngine(cut.meta)
    await cut.close()
    const report = newReport()
    assert.notDeepEqual(await rowsInCopy(folder, report), rows, 'the journal had it all: nothing is shown')
    assert.equal(report.unfinished.length, 1)
    const rounded = await once(folder, async () => {})
    assert.deepEqual(findingsOf(rounded), [])
    assert.deepEqual(await rowsInCopy(folder), rows)
    const copied = await openCopied(folder)
    const notes = (await copied.meta.scan(ALL, 10_000)).filter(({ key }) => key.indexOf(ENGINE_KEYS) === 0)
    assert.deepEqual(notes, [], 'notes are cleared away by the round that has them in its snapshot')
    await copied.close()
  }))

test('a lost journal tail is added to the copy even when damage prevents a snapshot', () =>
  inFolder(async folder => {
    await once(folder, async ({ meta }) => {
      for (const name of ['lost', 'deleted']) await putValue(meta, name, 'value')
    })
    const full = fullDisk()
    const cut = await openCopied(folder, full)
    full.isFull = true
    await putValue(cut.meta, 'young', 'value')
    await putValue(cut.meta, 'deleted', undefined)
    await cut.close()
    await behindItsBack(folder, { lost: undefined })
    assert.deepEqual([...(await rowsInCopy(folder)).keys()], ['deleted', 'lost'])
    for (let n = 0; n < 2; n++) {
      assert.deepEqual(findingsOf(await once(folder, async () => {})), ['missing lost'])
      assert.deepEqual([...(await rowsInCopy(folder)).keys()], ['lost', 'young'])
    }
  }))

test('without deletion notes the same deletions are reported as lost', () =>
  inFolder(async folder => {
    await once(folder, async ({ meta }) => {
      await putValue(meta, 'a', 'value')
    })
    const full = fullDisk()
    const cut = await openCopied(folder, full)
    full.isFull = true
    await putValue(cut.meta, 'a', undefined)
    await cut.close()
    const meta = await openLmdbMeta({ path: metaFolder(folder) })
    const notes = (await meta.scan(ALL, 10)).filter(({ key }) => key.indexOf(ENGINE_KEYS) === 0)
    assert.equal(notes.length, 1)
    await meta.commit({ checks: [], writes: notes.map(({ key }) => ({ key, value: undefined })) })
    await meta.close()
    assert.deepEqual(findingsOf(await once(folder, async () => {})), ['missing a'])
  }))

test('a note does not explain the loss of a later write', () =>
  inFolder(async folder => {
    const full = fullDisk()
    await once(folder, async ({ meta }) => {
      await putValue(meta, 'a', 'value')
    })
    const cut = await openCopied(folder, full)
    full.isFull = true
    await putValue(cut.meta, 'a', undefined)
    await cut.close()
    const later = await openCopied(folder)
    await putValue(later.meta, 'a', 'again')
    await later.close()
    await behindItsBack(folder, { a: undefined })
    assert.deepEqual(findingsOf(await once(folder, async () => {})), ['missing a'])
  }))

test('on a full disk commits succeed, the journal reports its gap, and the next snapshot closes it', () =>
  inFolder(async folder => {
    const full = fullDisk()
    const copied = await openCopied(folder, full)
    await churn(copied.meta, 2, 'before')
    await round(folder, copied)
    full.isFull = true
    await putValue(copied.meta, 'unwritten', 'value')
    await copied.journal.settle()
    assert.equal(copied.journal.gaps, 1)
    await putValue(copied.meta, 'unwritten too', 'value')
    full.isFull = false
    // The journal retries after a while.
    for (let n = 0; (await rowsInCopy(folder)).get('again') === undefined; n++) {
      await putValue(copied.meta, 'again', `${n}`)
      await copied.journal.settle()
    }
    assert.equal(copied.journal.gaps, 1)
    const report = newReport()
    assert.equal((await rowsInCopy(folder, report)).get('unwritten'), undefined)
    assert.ok(report.lost >= 2)
    const rounded = await round(folder, copied)
    assert.deepEqual(rounded.events, [])
    assert.deepEqual(await rowsInCopy(folder), await rowsInEngine(copied.meta))
    await copied.close()
  }))

test('a damaged snapshot is set aside, and the previous one is used', () =>
  inFolder(async folder => {
    for (const salt of ['a', 'b', 'c']) await once(folder, ({ meta }) => churn(meta, 5, salt))
    const newest = join(suiteCopyFolder(folder), filesOf(folder, '.snapshot').at(-1)!)
    const content = readFileSync(newest)
    content[content.length >> 1]! ^= 4
    writeFileSync(newest, content)
    const copied = await openCopied(folder)
    const { events } = await round(folder, copied)
    assert.deepEqual(
      events.map(({ what }) => what),
      ['copy damaged'],
    )
    assert.deepEqual(filesOf(folder, '.damaged').length, 1)
    assert.deepEqual(await rowsInCopy(folder), await rowsInEngine(copied.meta))
    await copied.close()
  }))

test('a damaged journal frame is skipped and reported', () =>
  inFolder(async folder => {
    await once(folder, ({ meta }) => putValue(meta, 'a', 'value').then(() => {}))
    const copied = await openCopied(folder)
    for (const name of ['b', 'c', 'd']) {
      await putValue(copied.meta, name, `value of ${name}`)
      await copied.journal.settle()
    }
    await copied.close()
    const path = join(suiteCopyFolder(folder), filesOf(folder, '.journal').at(-1)!)
    const content = readFileSync(path)
    content[content.indexOf('value of c')]! ^= 4
    writeFileSync(path, content)
    const report = newReport()
    assert.deepEqual([...(await rowsInCopy(folder, report)).keys()], ['a', 'b', 'd'])
    assert.deepEqual(report.damaged, [path])
    const { events } = await once(folder, async () => {})
    assert.deepEqual(
      events.map(({ what }) => what),
      ['copy damaged'],
    )
  }))

test('a damaged record is a finding and prevents a new snapshot', () =>
  inFolder(async folder => {
    const pattern = 'a value that stands nowhere else in the file'
    await once(folder, async ({ meta }) => {
      for (const name of ['a', 'c']) await putValue(meta, name, 'sound')
      await putValue(meta, 'b', pattern)
    })
    const file = join(metaFolder(folder), 'data.mdb')
    const content = readFileSync(file)
    for (let at = content.indexOf(pattern); at >= 0; at = content.indexOf(pattern, at)) content[at + 5]! ^= 1
    writeFileSync(file, content)
    assert.deepEqual(findingsOf(await once(folder, async () => {})), ['damaged b'])
    assert.equal((await rowsInCopy(folder)).get('b'), pattern)
  }))

/** A damaged copy beside an intact engine: nothing is lost, so nothing may be reported as lost. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Disk, realDisk } from '../../lib/disk.ts'
import { systemRandom } from '../../lib/random.ts'
import { openLmdbMeta } from '../lmdb/lmdb.ts'
import { CopyKeeper, type KeeperEvent } from './keeper.ts'
import {
  type Copied,
  inFolder,
  metaFolder,
  openCopied,
  putValue,
  rowsInCopy,
  rowsInEngine,
  suiteCopyFolder,
  write,
} from './suite-copy.ts'

/** The events of one round. */
async function round(folder: string, { meta, journal }: Copied, disk: Disk = realDisk): Promise<string[]> {
  const told: string[] = []
  const tell = (event: KeeperEvent): void => {
    if (event.what !== 'findings') told.push(event.what)
    else for (const { kind, key } of event.findings.listed) told.push(`${kind} ${key}`)
  }
  const place = suiteCopyFolder(folder)
  const keeper = new CopyKeeper({ engine: meta, disk, folder: place, journal, random: systemRandom, onEvent: tell })
  keeper.begin()
  while ((await keeper.step()) === 'busy');
  return told
}

async function started<T>(folder: string, work: (copied: Copied) => Promise<T>): Promise<T> {
  const copied = await openCopied(folder)
  try {
    return await work(copied)
  } finally {
    await copied.close()
  }
}

const withSnapshot = (folder: string): Promise<string[]> =>
  started(folder, async copied => {
    for (const name of ['a', 'b', 'c']) await putValue(copied.meta, name, `value of ${name}`)
    return round(folder, copied)
  })

const newest = (folder: string, ending: string): string => {
  const names = readdirSync(suiteCopyFolder(folder)).filter(name => name.endsWith(ending))
  return join(suiteCopyFolder(folder), names.sort().at(-1)!)
}

function rot(path: string, pattern: string): void {
  const content = readFileSync(path)
  const at = content.indexOf(pattern)
  assert.ok(at > 0)
  content[at]! ^= 4
  writeFileSync(path, content)
}

/** A frame that deletes `b` and puts `young`, and one after it. */
async function deleting({ meta, journal }: Copied, again?: string): Promise<void> {
  await meta.commit({ checks: [], writes: [write('b', undefined), write('young', 'value of young')] })
  await journal.settle()
  await putValue(meta, 'behind', 'value')
  // Reuses the slot of the note.
  await putValue(meta, 'c', undefined)
  if (again !== undefined) await putValue(meta, 'b', again)
}

test('a deletion in a damaged frame is recognized from the rest of the frame', () =>
  inFolder(async folder => {
    await withSnapshot(folder)
    await started(folder, deleting)
    rot(newest(folder, '.journal'), 'value of young')
    assert.deepEqual(await started(folder, copied => round(folder, copied)), ['copy damaged'])
    await started(folder, async copied => {
      assert.deepEqual(await round(folder, copied), [])
      assert.deepEqual(await rowsInCopy(folder), await rowsInEngine(copied.meta))
    })
  }))

test('the rest of a damaged deletion does not explain the loss of a later write', () =>
  inFolder(async folder => {
    await withSnapshot(folder)
    await started(folder, copied => deleting(copied, 'again'))
    rot(newest(folder, '.journal'), 'value of young')
    const meta = await openLmdbMeta({ path: metaFolder(folder) })
    for (const name of ['a', 'b']) await putValue(meta, name, undefined)
    await meta.close()
    assert.deepEqual(await started(folder, copied => round(folder, copied)), ['copy damaged', 'missing a', 'missing b'])
  }))

test('after a power cut loses a frame inside a journal, deletion notes cover its deletions', () =>
  inFolder(async folder => {
    await withSnapshot(folder)
    const path = await started(folder, async copied => {
      await copied.meta.commit({ checks: [], writes: [write('b', undefined), write('young', 'value of young')] })
      await copied.journal.settle()
      await putValue(copied.meta, 'behind', 'value')
      return newest(folder, '.journal')
    })
    // Nothing of the frame itself is left.
    const content = readFileSync(path)
    const value = content.indexOf('value of young')
    content.fill(0, value - 70, value)
    writeFileSync(path, content)
    assert.deepEqual(await started(folder, copied => round(folder, copied)), ['copy damaged'])
  }))

test('unreadable files count as damaged, and the previous snapshot is used', () =>
  inFolder(async folder => {
    await withSnapshot(folder)
    await started(folder, async copied => {
      await putValue(copied.meta, 'd', 'value')
      await round(folder, copied)
    })
    const unreadable = newest(folder, '.snapshot')
    const disk: Disk = {
      ...realDisk,
      async open(path, how) {
        const file = await realDisk.open(path, how)
        const read = (): never => {
          throw Object.assign(new Error('input/output error'), { code: 'EIO' })
        }
        return path === unreadable ? { ...file, size: () => file.size(), close: () => file.close(), read } : file
      },
    }
    await started(folder, async copied => {
      assert.deepEqual(await round(folder, copied, disk), ['copy damaged'])
      assert.deepEqual(await rowsInCopy(folder), await rowsInEngine(copied.meta))
    })
  }))

test('next to a damaged journal an older state of a frequently written key is still found', () =>
  inFolder(async folder => {
    await withSnapshot(folder)
    const file = join(metaFolder(folder), 'data.mdb')
    const write = async (from: number, to: number): Promise<void> => {
      await started(folder, async ({ meta }) => {
        for (let n = from; n < to; n++) await putValue(meta, 'hot', `value ${n}`)
        await putValue(meta, `end of ${to}`, 'a row to be damaged')
      })
    }
    await write(0, 10)
    const old = readFileSync(file)
    await write(10, 2_000)
    await write(2_000, 2_001)
    rot(newest(folder, '.journal'), 'a row to be damaged')
    writeFileSync(file, old)
    const told = await started(folder, copied => round(folder, copied))
    assert.ok(told.includes('copy damaged') && told.includes('outdated hot'), told.join())
  }))

test('writes lost with a damaged journal are not taken for an older state', () =>
  inFolder(async folder => {
    await withSnapshot(folder)
    await started(folder, async ({ meta, journal }) => {
      for (let n = 0; n < 2_000; n++) await putValue(meta, 'hot', `value ${n}`)
      await journal.settle()
      await putValue(meta, 'hot', 'a value whose row is lost')
      await journal.settle()
      await putValue(meta, 'later', 'in the next frame')
    })
    rot(newest(folder, '.journal'), 'a value whose row is lost')
    assert.deepEqual(await started(folder, copied => round(folder, copied)), ['copy damaged'])
    assert.equal((await rowsInCopy(folder)).get('hot'), 'a value whose row is lost')
  }))

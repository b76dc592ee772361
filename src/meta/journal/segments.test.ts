import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Disk, realDisk } from '../../lib/disk.ts'
import { systemRandom } from '../../lib/random.ts'
import { META_LIMITS } from '../meta.ts'
import { utf8 } from '../suite-driver.ts'
import { compare } from './compare.ts'
import { CopyKeeper } from './keeper.ts'
import { inFolder, openCopied, suiteCopyFolder } from './suite-copy.ts'

/** Delays writes to the second file of a journal, after its head. */
function slowDisk(): { readonly disk: Disk; readonly reached: Promise<void>; readonly release: () => void } {
  let reach: () => void
  let release: () => void
  const reached = new Promise<void>(resolve => {
    reach = resolve
  })
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  const open: Disk['open'] = async (path, how) => {
    const file = await realDisk.open(path, how)
    if (!path.endsWith('-000002.journal') || how !== 'create') return file
    return {
      async write(pieces, position) {
        if (position > 0) {
          reach()
          await released
        }
        await file.write(pieces, position)
      },
      read: (into, position) => file.read(into, position),
      datasync: () => file.datasync(),
      size: () => file.size(),
      close: () => file.close(),
    }
  }
  return { disk: { ...realDisk, open }, reached, release: () => release() }
}

test('rows that wait for the next journal file are not reported as lost', () =>
  inFolder(async folder => {
    const { disk, reached, release } = slowDisk()
    const { meta, journal, close } = await openCopied(folder, { disk })
    const place = suiteCopyFolder(folder)
    const parts = { engine: meta, disk: realDisk, folder: place, random: systemRandom }
    const keeper = new CopyKeeper({ ...parts, journal, onEvent: () => assert.fail('nothing is wrong') })
    keeper.begin()
    while ((await keeper.step()) === 'busy');
    const value = Buffer.alloc(META_LIMITS.valueBytesMax, 'v')
    let isReached = false
    const reaching = reached.then(() => {
      isReached = true
    })
    for (let n = 0; !isReached; n++) {
      const writes = Array.from({ length: 8 }, (_, i) => ({ key: utf8(`k${n}-${i}`), value }))
      await meta.commit({ checks: [], writes })
    }
    await reaching
    const comparison = await compare({ ...parts, generation: journal.generation })
    for await (const _ of comparison.entries());
    await comparison.end()
    release()
    await close()
    assert.deepEqual(comparison.findings.listed, [])
  }))

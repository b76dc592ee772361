/** When a round is due, and the effects of an incomplete one. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { ManualClock } from '../../lib/clock.ts'
import { type Disk, realDisk } from '../../lib/disk.ts'
import { systemRandom } from '../../lib/random.ts'
import { utf8 } from '../suite-driver.ts'
import { CopyKeeper } from './keeper.ts'
import { type Copied, inFolder, openCopied, suiteCopyFolder } from './suite-copy.ts'

function keeperOf(
  folder: string,
  { meta: engine, journal }: Copied,
  more: { clock?: ManualClock; disk?: Disk } = {},
): CopyKeeper {
  const place = suiteCopyFolder(folder)
  return new CopyKeeper({ engine, disk: realDisk, folder: place, journal, random: systemRandom, onEvent() {}, ...more })
}

const filesOf = (folder: string, ending: string): string[] =>
  readdirSync(suiteCopyFolder(folder)).filter(name => name.endsWith(ending))

test('a round is due half a minute after the start, then every hour', () =>
  inFolder(async folder => {
    const copied = await openCopied(folder)
    const clock = new ManualClock()
    const keeper = keeperOf(folder, copied, { clock })
    const rounds = async (ms: number): Promise<number> => {
      clock.move(ms)
      while ((await keeper.step()) === 'busy');
      return keeper.state.rounds
    }
    assert.deepEqual([await rounds(29_000), await rounds(2_000), await rounds(1_000)], [0, 1, 1])
    assert.deepEqual([await rounds(3_590_000), await rounds(60_000)], [1, 2])
    await copied.close()
  }))

test('a round is due early when journals have grown by the size of a snapshot and a minimum', () =>
  inFolder(async folder => {
    const copied = await openCopied(folder)
    const clock = new ManualClock()
    let bytes = 2 ** 20
    const disk: Disk = {
      ...realDisk,
      open: async (path, how) => {
        const file = await realDisk.open(path, how)
        return Object.assign(file, how === 'read' && path.endsWith('.journal') ? { size: async () => bytes } : {})
      },
    }
    const keeper = keeperOf(folder, copied, { clock, disk })
    const rounds: number[] = []
    for (const grown of [0, 200, 300, 400, 800]) {
      bytes += grown * 2 ** 20
      clock.move(60_000)
      while ((await keeper.step()) === 'busy');
      rounds.push(keeper.state.rounds)
    }
    assert.deepEqual(rounds, [1, 1, 2, 3, 4])
    await copied.close()
  }))

test('a failed round is retried soon; a journal removed meanwhile is ignored', () =>
  inFolder(async folder => {
    const copied = await openCopied(folder)
    const clock = new ManualClock()
    let fails = true
    const disk: Disk = {
      ...realDisk,
      list: async path => [...(await realDisk.list(path)), '00000001-000000000000-000001.journal'],
      rename: async (from, to) => (fails ? assert.fail('no rename') : realDisk.rename(from, to)),
    }
    const keeper = keeperOf(folder, copied, { clock, disk })
    clock.move(31_000)
    await assert.rejects(async () => {
      while ((await keeper.step()) === 'busy');
    }, /no rename/)
    fails = false
    clock.move(60_000)
    assert.equal(await keeper.step(), 'idle')
    assert.deepEqual(filesOf(folder, '.snapshot'), [])
    clock.move(300_000)
    while ((await keeper.step()) === 'busy');
    assert.equal(filesOf(folder, '.snapshot').length, 1)
    await copied.close()
  }))

test('an aborted round leaves no files and no snapshot open', () =>
  inFolder(async folder => {
    const copied = await openCopied(folder)
    for (let n = 0; n < 600; n += 100) {
      const writes = Array.from({ length: 100 }, (_, i) => ({ key: utf8(`k${n + i}`), value: utf8('v') }))
      await copied.meta.commit({ checks: [], writes })
    }
    const keeper = keeperOf(folder, copied)
    keeper.begin()
    assert.equal(await keeper.step(), 'busy')
    await keeper.stop()
    assert.deepEqual([filesOf(folder, '.new'), filesOf(folder, '.snapshot')], [[], []])
    await copied.close()
  }))

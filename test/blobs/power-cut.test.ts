/** Acknowledged means durable: through failing calls and power cuts. Controls show that the tests would notice. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BlobLocation, Blobs } from '../../src/blobs/blobs.ts'
import type { BlobsOptions } from '../../src/blobs/file-blobs.ts'
import { type DiskFailure, type DiskFault, MemoryDisk } from '../../src/lib/memory-disk.ts'
import { chance, cut, dawdle, idOf, open, payload, readAll, turn } from './fixture.ts'

interface Acknowledged {
  readonly id: Buffer
  readonly location: BlobLocation
  readonly bytes: Buffer
}

interface Workload {
  readonly options: Partial<BlobsOptions>
  /** Blobs that are acknowledged when nothing fails. */
  readonly count: number
  run(blobs: Blobs, acknowledged: Acknowledged[]): Promise<void>
}

/** Writes one blob; a refusal does not fail the test, it only leaves the blob unacknowledged. */
async function attempt(blobs: Blobs, acknowledged: Acknowledged[], number: number, length: number): Promise<void> {
  const id = idOf(number)
  const bytes = payload(length, number)
  try {
    const location = await blobs.write(id, cut(bytes, [300_000]), length < 10_000 ? 700 : 30_000)
    acknowledged.push({ id, location, bytes })
  } catch {}
}

const SMALL = { packedBytesMax: 6000, volumeBytesMax: 24 * 1024 } as const
const LARGE = { packedBytesMax: 200_000, volumeBytesMax: 700_000 } as const

const WORKLOADS: Readonly<Record<string, Workload>> = {
  'packed writes': {
    options: SMALL,
    count: 7,
    async run(blobs, acknowledged) {
      for (const number of [1, 2, 3]) await attempt(blobs, acknowledged, number, 100 * number)
      await Promise.all([4, 5, 6, 7].map(number => attempt(blobs, acknowledged, number, 900)))
    },
  },
  rotation: {
    options: SMALL,
    count: 10,
    async run(blobs, acknowledged) {
      for (const round of [0, 10, 20]) {
        await Promise.all([1, 2, 3].map(number => attempt(blobs, acknowledged, round + number, 5000)))
      }
      await blobs.closeVolume()
      await attempt(blobs, acknowledged, 40, 10)
    },
  },
  'overlapping batches': {
    options: LARGE,
    count: 20,
    async run(blobs, acknowledged) {
      const late = async (number: number) => {
        for (let turns = number; turns > 0; turns--) await turn()
        await attempt(blobs, acknowledged, number, number % 3 === 0 ? 500 : 140_000)
        if (number % 5 === 0) await blobs.closeVolume()
      }
      await Promise.all(Array.from({ length: 20 }, (_, number) => late(number)))
    },
  },
  'solo writes': {
    options: SMALL,
    count: 4,
    async run(blobs, acknowledged) {
      await Promise.all([1, 2, 257].map(number => attempt(blobs, acknowledged, number, 7000)))
      await attempt(blobs, acknowledged, 4, 1_200_000)
    },
  },
}

async function verify(disk: MemoryDisk, acknowledged: readonly Acknowledged[], when: string): Promise<void> {
  disk.pause = undefined
  const blobs = await open(disk, { writer: Buffer.alloc(6, 9) })
  for (const { id, location, bytes } of acknowledged) {
    const read = await readAll(blobs, id, location).catch(error => assert.fail(`${when}: ${error}`))
    assert(read.equals(bytes), `${when}: other bytes`)
  }
  await blobs.close()
}

for (const [name, { options, count, run }] of Object.entries(WORKLOADS)) {
  for (const fault of ['EIO', 'ENOSPC', 'short'] satisfies DiskFault[]) {
    test(`${name}: whichever call fails (${fault}), what was acknowledged survives a power cut`, async () => {
      let fewest = Number.POSITIVE_INFINITY
      for (let n = 1, passed = false; !passed; n++) {
        const disk = new MemoryDisk({ crashable: true })
        const blobs = await open(disk, options)
        dawdle(disk, chance(n))
        const before = disk.calls
        const acknowledged: Acknowledged[] = []
        disk.failAt(n, fault)
        await run(blobs, acknowledged)
        passed = disk.calls - before < n
        disk.failAt(0)
        const total = acknowledged.length
        if (passed) assert(fewest < total && total === count, 'a call that failed was missed, and only that')
        else fewest = Math.min(fewest, total)
        await verify(disk, acknowledged, `call ${n}`)
        await verify(disk.powerCut(chance(n)), acknowledged, `call ${n}, power cut`)
        // One failed call does not stop the store: the next write goes elsewhere and succeeds.
        await attempt(blobs, acknowledged, 999, 50)
        await attempt(blobs, acknowledged, 998, 210_000)
        assert.equal(acknowledged.length, total + 2, `call ${n}: later writes succeed`)
        await blobs.close()
        await verify(disk.powerCut(chance(n + 1000)), acknowledged, `call ${n}, later`)
        assert.equal(disk.openFiles, 0, `call ${n}: every file is closed`)
      }
    })
  }

  test(`${name}: a power cut before any call loses nothing that was acknowledged by then`, async () => {
    for (let seed = 1; seed <= 4; seed++) {
      const random = chance(seed)
      const acknowledged: Acknowledged[] = []
      const cuts: { disk: MemoryDisk; known: readonly Acknowledged[] }[] = []
      const disk = new (class extends MemoryDisk {
        override count(what: string): DiskFailure | undefined {
          cuts.push({ disk: this.powerCut(random), known: [...acknowledged] })
          return super.count(what)
        }
      })({ crashable: true })
      const blobs = await open(disk, options)
      dawdle(disk, chance(seed))
      await run(blobs, acknowledged)
      await blobs.close()
      assert.equal(acknowledged.length, count)
      for (const [call, state] of cuts.entries()) await verify(state.disk, state.known, `seed ${seed}, call ${call}`)
    }
  })

  test(`${name}: without syncs the same check loses data`, async () => {
    let lost = 0
    for (let seed = 1; seed <= 10; seed++) {
      const disk = new MemoryDisk({ crashable: true })
      const blobs = await open(disk, { ...options, durability: 'os' })
      const acknowledged: Acknowledged[] = []
      await run(blobs, acknowledged)
      await blobs.close()
      await verify(disk.powerCut(chance(seed)), acknowledged, '').catch(() => lost++)
    }
    assert(lost >= 5, `a cut lost data in only ${lost} of 10 cases`)
  })
}

test('a long body whose early sync fails is refused, though later syncs would succeed', async () => {
  const length = 9_500_000
  const body = payload(length)
  let syncs = 0
  let refused = 0
  for (let n = 1, passed = false; !passed; n++) {
    const disk = new MemoryDisk({ crashable: true })
    const blobs = await open(disk)
    disk.failAt(n)
    // Long syncs: the body ends while the early one still runs.
    disk.pause = async what => {
      for (let turns = 0; what === 'datasync' && turns < 20; turns++) await turn()
    }
    const before = disk.calls
    const acknowledged: Acknowledged[] = []
    try {
      acknowledged.push({ id: idOf(1), bytes: body, location: await blobs.write(idOf(1), [body]) })
    } catch {
      refused++
    }
    passed = disk.calls - before < n
    syncs = disk.datasyncs
    await verify(disk.powerCut(chance(n)), acknowledged, `call ${n}`)
    await blobs.close()
    assert.equal(disk.openFiles, 0)
  }
  assert(syncs >= 2, 'the body was long enough for an early sync')
  assert(refused > 20)
})

test('a volume whose sync failed takes no more bytes, and what it had acknowledged stays readable', async () => {
  const disk = new MemoryDisk({ crashable: true })
  const blobs = await open(disk)
  const first = await blobs.write(idOf(1), [payload(100)])
  disk.failSyncs = true
  const failed = await Promise.allSettled([2, 3, 4].map(number => blobs.write(idOf(number), [payload(100)])))
  assert(failed.every(outcome => outcome.status === 'rejected'))
  await assert.rejects(blobs.write(idOf(5), [payload(100)]))
  disk.failSyncs = false
  const [state] = await blobs.volumes()
  const later = await blobs.write(idOf(6), [payload(100)])
  assert.notEqual(later.volume, first.volume)
  const after = (await blobs.volumes()).find(volume => volume.name === first.volume)
  assert.deepEqual(after, { ...state!, open: false, newest: false })
  await verify(disk.powerCut(chance(1)), [{ id: idOf(1), location: first, bytes: payload(100) }], 'after the failure')
  await blobs.close()
})

for (const order of ['while it is being written', 'after it was written'] as const) {
  test(`a sync that fails also refuses the next batch, ${order}`, async () => {
    const disk = new MemoryDisk()
    const blobs = await open(disk)
    await blobs.write(idOf(0), [payload(10)])
    const running: { what: string; finish: () => void }[] = []
    disk.pause = what => new Promise(resolve => running.push({ what, finish: resolve }))
    const begun = async (what: string) => {
      while (running.at(-1)?.what !== what) await turn()
      return running.pop()!.finish
    }
    const first = blobs.write(idOf(1), [payload(100)]).catch(error => error.code)
    disk.failSyncs = true
    const firstWritten = await begun('write')
    firstWritten()
    const firstSynced = await begun('datasync')
    disk.failSyncs = false
    const syncs = disk.datasyncs
    // Long enough to be written while the sync runs.
    const second = blobs.write(idOf(2), [payload(300_000)]).catch(error => error.code)
    const secondWritten = await begun('write')
    const steps = [firstSynced, secondWritten]
    if (order === 'after it was written') steps.reverse()
    for (const step of steps) {
      step()
      await turn()
    }
    assert.deepEqual([await first, await second], ['EIO', 'EIO'])
    assert.equal(disk.datasyncs, syncs, 'the file is never synced again')
    disk.pause = undefined
    await blobs.write(idOf(3), [payload(10)])
    await blobs.close()
    assert.equal(disk.openFiles, 0)
  })
}

test('writes that arrive together share their syncs', async () => {
  const disk = new MemoryDisk()
  const blobs = await open(disk)
  await blobs.write(idOf(0), [payload(10)])
  const before = disk.datasyncs
  await Promise.all(Array.from({ length: 200 }, (_, number) => blobs.write(idOf(number + 1), [payload(100)])))
  assert(disk.datasyncs - before <= 3, `${disk.datasyncs - before} syncs for 200 writes`)
  await blobs.close()
})

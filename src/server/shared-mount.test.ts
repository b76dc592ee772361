import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../lib/clock.ts'
import type { Disk, DiskFile } from '../lib/disk.ts'
import { MemoryDisk } from '../lib/memory-disk.ts'
import { systemRandom } from '../lib/random.ts'
import { openMemoryMeta } from '../meta/memory/memory.ts'
import type { Meta } from '../meta/meta.ts'
import { readCluster } from '../store/cluster/cluster-records.ts'
import { joinCluster } from '../store/cluster/join.ts'
import { expel } from '../store/cluster/membership.ts'
import { MountRefused, SharedMount } from './shared-mount.ts'

const TIMING = { renewMs: 2_000, expelMs: 12_000 }

/** As a client that caches the size of open files: a file shows what it had when it was opened or refreshed. */
class LazyMount implements Pick<Disk, 'open'> {
  isLazy = true
  readonly #disk: Disk
  readonly #sizes = new Map<DiskFile, number>()

  constructor(disk: Disk) {
    this.#disk = disk
  }

  async open(path: string, how: 'create' | 'read'): Promise<DiskFile> {
    const file = await this.#disk.open(path, how)
    if (how === 'create') return file
    this.#sizes.set(file, await file.size())
    return Object.assign(Object.create(file) as DiskFile, {
      read: async (into: readonly Uint8Array[], position: number) =>
        this.isLazy && position >= this.#sizes.get(file)! ? 0 : file.read(into, position),
      close: () => file.close(),
    })
  }
}

const lazily = (disk: Disk): Disk & { isLazy: boolean } => {
  const lazy = new LazyMount(disk)
  const shown = Object.create(disk) as Disk & { isLazy: boolean }
  for (const name of ['makeFolder', 'syncFolder', 'list', 'remove'] as const) {
    Object.assign(shown, { [name]: (path: string) => disk[name](path) })
  }
  Object.defineProperty(shown, 'isLazy', { set: (value: boolean) => void (lazy.isLazy = value) })
  return Object.assign(shown, { open: lazy.open.bind(lazy) })
}

class TestGateways {
  readonly meta: Meta
  readonly lines: string[] = []
  #last = 0

  constructor(meta: Meta) {
    this.meta = meta
  }

  /** `others` look at the cluster while the new one waits for them. */
  async join(disk: Disk, others: readonly SharedMount[] = []) {
    const clock = new ManualClock()
    const name = `gateway-${++this.#last}`
    const member = { address: name, version: '1', isExclusive: false, socket: '' }
    const id = systemRandom.bytes(6)
    const shared = { meta: this.meta, clock, random: systemRandom }
    const { membership } = await joinCluster({ ...shared, timing: TIMING, id, member, isKnownDead: async () => false })
    const sleep = async (ms: number): Promise<void> => {
      clock.move(ms)
      for (const other of others) await other.look(await readCluster(this.meta))
    }
    const mount = await SharedMount.join({
      ...{ ...shared, disk, id, folder: '/blobs', meta: membership.meta, pauseMs: TIMING.renewMs },
      clock: Object.assign(Object.create(clock) as ManualClock, {
        elapsed: () => clock.elapsed(),
        sleep,
      }),
      report: (level, text) => void this.lines.push(`${name} ${level}: ${text.split(':')[0]}`),
    })
    const look = async (ms = 0): Promise<void> => {
      clock.move(ms)
      await mount.look(await readCluster(this.meta))
    }
    return { mount, look, membership }
  }
}

test('gateways on one folder see each other’s bytes and join; their files go with them', async () => {
  const gateways = new TestGateways(await openMemoryMeta())
  const disk = new MemoryDisk()
  const one = await gateways.join(disk)
  const two = await gateways.join(disk, [one.mount])
  for (let i = 0; i < 3; i++) {
    await one.look(30_000)
    await two.look(30_000)
  }
  assert.deepEqual([gateways.lines, one.mount.late, two.mount.late], [[], 0, 0])
  assert.equal((await disk.list('/blobs/probes')).length, 2)
  await two.mount.close()
  const [member] = [...(await readCluster(gateways.meta)).members.values()].filter(({ id }) =>
    id.equals(one.membership.id),
  )
  await expel(gateways.meta, member!)
  const three = await gateways.join(disk)
  assert.deepEqual(await disk.list('/blobs/probes'), [three.membership.id.toString('hex')])
})

test('a gateway with another folder is refused', async () => {
  const gateways = new TestGateways(await openMemoryMeta())
  const one = await gateways.join(new MemoryDisk())
  await assert.rejects(gateways.join(new MemoryDisk(), [one.mount]), (error: Error) => {
    assert.ok(error instanceof MountRefused)
    assert.match(
      error.message,
      /^\/blobs does not show what the gateway at gateway-1 has written there: mount the same/,
    )
    return true
  })
})

test('a gateway whose writes the others do not see is refused', async () => {
  const gateways = new TestGateways(await openMemoryMeta())
  const disk = new MemoryDisk()
  const one = await gateways.join(disk)
  // It reads the shared folder, and writes somewhere else.
  const elsewhere = new MemoryDisk()
  const split = Object.create(disk) as Disk
  for (const name of ['makeFolder', 'syncFolder', 'list', 'remove'] as const) {
    Object.assign(split, { [name]: (path: string) => disk[name](path) })
  }
  await elsewhere.makeFolder('/blobs/probes')
  split.open = (path, how) => (how === 'create' ? elsewhere : disk).open(path, how)
  await assert.rejects(gateways.join(split, [one.mount]), (error: Error) => {
    assert.match(error.message, /^the gateway at gateway-1 does not see what this one writes to \/blobs: /)
    return error instanceof MountRefused
  })
})

test('a mount that shows appended bytes late is reported, and again once it shows them', async () => {
  const gateways = new TestGateways(await openMemoryMeta())
  const disk = new MemoryDisk()
  const lazy = lazily(disk)
  const one = await gateways.join(disk)
  const two = await gateways.join(lazy, [one.mount])
  await two.look()
  assert.deepEqual(gateways.lines, [])
  await one.look(30_000)
  await two.look()
  await two.look()
  const late = 'gateway-2 error: /blobs does not immediately show what the gateway at gateway-1 has synced there'
  assert.deepEqual([gateways.lines, two.mount.late], [[late], 1])
  lazy.isLazy = false
  await two.look()
  assert.equal(gateways.lines[1], 'gateway-2 info: /blobs shows what the gateway at gateway-1 has written')
})

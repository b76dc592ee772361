/** Several servers on one database: refused without a cluster, members of it otherwise. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { WrongClusterKey } from '../../src/crypto/cluster-key.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { type Disk, realDisk } from '../../src/lib/disk.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { ClockRefused } from '../../src/server/clock-watch.ts'
import { type FolderOptions, type OwnedFolder, openFolder } from '../../src/server/compose.ts'
import { StoreInUse } from '../../src/store/cluster/join.ts'
import { Expelled, expel } from '../../src/store/cluster/membership.ts'
import { LostRecordGuard } from '../../src/store/commit/lost-record-guard.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import type { Store } from '../../src/store/store.ts'
import { bytesOf, makeBucket, payload, put, remove, withFolder } from '../store/fixture.ts'
import { serverUrl, withDatabase } from './server.ts'

const skip = serverUrl === undefined && 'needs test/postgres/run.sh'
const TIMING = { renewMs: 50, expelMs: 1_000 }
const KEY = { name: 'archive', key: { kind: 'local', key: '11'.repeat(32) } } as const

/** Gateways of one cluster, each with a folder of its own; bytes are in a folder that they share. */
function withCluster(use: (join: (more?: Partial<FolderOptions>) => Promise<OwnedFolder>) => Promise<void>) {
  return withDatabase('cluster', metaUrl =>
    withFolder(async folder => {
      const open: OwnedFolder[] = []
      let count = 0
      try {
        await use(async more => {
          const own = join(folder, `gateway-${++count}`)
          const shared = { metaUrl, blobsPlace: join(folder, 'blobs'), cluster: KEY, clusterTiming: TIMING }
          const gateway = await openFolder({ folder: own, address: `gateway-${count}`, ...shared, ...more })
          open.push(gateway)
          return gateway
        })
      } finally {
        for (const gateway of open) await gateway.close().catch(() => {})
      }
    }),
  )
}

const renewed = ({ membership }: OwnedFolder): Promise<void> =>
  new Promise(resolve => membership!.onStep(() => resolve()))

/** Waits for something that a gateway sees in one of its renewals; the runner's time limit ends it. */
async function until(gateway: OwnedFolder, isSo: () => boolean): Promise<void> {
  while (!isSo()) await renewed(gateway)
}

/** The store whose commits are those of the leader. */
function leading({ store, membership }: OwnedFolder): Store {
  return store.forRequest(new LostRecordGuard(membership!.leaderMeta!, store.context.losses))
}

test('a second server on a database is refused while the first one runs', { skip }, () =>
  withCluster(async join => {
    const first = await join({ cluster: undefined })
    await makeBucket(first.store, 'bucket')
    await assert.rejects(join({ cluster: undefined }), error => error instanceof StoreInUse)
    await assert.rejects(join(), error => error instanceof StoreInUse)
    await put(first.store, 'bucket', 'key', payload(5_000, 1))
    assert.ok((await bytesOf(first.store, { bucket: 'bucket', key: 'key' })).equals(payload(5_000, 1)))
  }),
)

test('gateways of a cluster see each other’s writes immediately, including encrypted ones', { skip }, () =>
  withCluster(async join => {
    const [one, two] = [await join(), await join()]
    await makeBucket(one.store, 'bucket')
    for (const [i, size] of [10, 5_000, 3_000_000].entries()) {
      await put(one.store, 'bucket', `key-${i}`, payload(size, i))
      assert.ok((await bytesOf(two.store, { bucket: 'bucket', key: `key-${i}` })).equals(payload(size, i)))
    }
    assert.deepEqual([one.incarnation, two.incarnation], [1, 1])
    await one.store.namedKeys.rotate({ of: 'service' })
    assert.equal(two.store.context.keyring.versions.service, 2, 'a rotation ends when every gateway knows the key')
  }),
)

test('a gateway with another cluster key does not start', { skip }, () =>
  withCluster(async join => {
    await join()
    const wrong = { ...KEY, key: { kind: 'local', key: '22'.repeat(32) } } as const
    await assert.rejects(join({ cluster: wrong }), error => error instanceof WrongClusterKey)
    await assert.rejects(join({ cluster: { ...KEY, name: 'other' } }), error => error instanceof WrongClusterKey)
  }),
)

test('a gateway whose clock is ten minutes off cannot join', { skip }, () =>
  withCluster(async join => {
    const clock = { ...systemClock, now: () => systemClock.now() + 600_000 }
    await assert.rejects(join({ clock }), error => error instanceof ClockRefused)
    await assert.rejects(join({ clock, cluster: undefined }), error => error instanceof ClockRefused)
    const { membership, clockWatch } = await join()
    assert.equal(membership!.view!.members.size, 1)
    assert.ok(Math.abs(clockWatch!.aheadMs!) < 1_000)
  }),
)

test('a gateway that joins while the first one starts keeps its workers', { skip }, () =>
  withCluster(async join => {
    const worker = Buffer.from('worker')
    let second: OwnedFolder | undefined
    const disk: Disk = {
      ...realDisk,
      // Called once the first one is a member and before it serves.
      async makeFolder(path) {
        if (second === undefined && path.endsWith('volumes')) {
          second = await join()
          await second.admit(worker)
        }
        await realDisk.makeFolder(path)
      },
    }
    const first = await join({ disk })
    assert.ok((await first.store.context.meta.get(recordKey.fence(worker))) !== undefined)
  }),
)

test('garbage is freed only when no gateway reads it any more', { skip }, () =>
  withCluster(async join => {
    const [one, two] = [await join(), await join()]
    await makeBucket(one.store, 'bucket')
    await put(one.store, 'bucket', 'key', payload(3_000_000, 1))
    await until(one, () => one.membership!.leaderMeta !== undefined)
    const reading = await two.store.objects.open({ bucket: 'bucket', key: 'key' })
    await remove(one.store, 'bucket', 'key')
    const reclaimer = new Reclaimer(leading(one).context)
    const solos = async (): Promise<number> => {
      let count = 0
      for await (const _ of one.store.context.blobs.solos()) count++
      return count
    }
    const barrier = one.membership!.raiseBarrier('drafts')
    for (let i = 0; i < 20; i++) await reclaimer.step()
    await until(one, () => barrier.hasPassed())
    await runUntilIdle(reclaimer)
    assert.equal(await solos(), 1, 'freed under a reader of another gateway')
    reading.close()
    while ((await solos()) > 0) {
      await reclaimer.step()
      await renewed(one)
    }
  }),
)

test('a volume that another gateway still writes is not compacted', { skip }, () =>
  withCluster(async join => {
    const [one, two] = [await join(), await join()]
    await makeBucket(one.store, 'bucket')
    await put(two.store, 'bucket', 'key', payload(5_000, 1))
    await remove(two.store, 'bucket', 'key')
    await until(one, () => one.membership!.leaderMeta !== undefined)
    const store = leading(one)
    const [reclaimer, compactor] = [new Reclaimer(store.context), new Compactor(store.context)]
    for (let i = 0; i < 10; i++) {
      await reclaimer.step()
      await compactor.step()
      await renewed(one)
    }
    assert.equal((await one.store.context.blobs.volumes()).length, 1)
    await put(two.store, 'bucket', 'next', payload(5_000, 2))
    assert.ok((await bytesOf(one.store, { bucket: 'bucket', key: 'next' })).equals(payload(5_000, 2)))
  }),
)

test('an expelled gateway can no longer commit and is notified; the others continue', { skip }, () =>
  withCluster(async join => {
    const lost: string[] = []
    const one = await join()
    const two = await join({ membershipEvents: { onLost: error => void lost.push(error.name) } })
    await makeBucket(one.store, 'bucket')
    await until(one, () => one.membership!.view!.members.size === 2)
    const seen = [...one.membership!.view!.members.values()].find(({ address }) => address === 'gateway-2')!
    assert.ok(await expel(one.membership!.meta, seen))
    await assert.rejects(put(two.store, 'bucket', 'key', payload(10, 1)), error => error instanceof Expelled)
    await until(one, () => lost.length > 0)
    await put(one.store, 'bucket', 'key', payload(10, 2))
    assert.ok((await bytesOf(two.store, { bucket: 'bucket', key: 'key' })).equals(payload(10, 2)))
  }),
)

/** Two processes on one folder, simulated in one: one serves, the other runs maintenance. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBlobs } from '../../src/blobs/file-blobs.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { keyringInFolder } from '../../src/crypto/keyring-file.ts'
import { Ids } from '../../src/lib/ids.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import type { Meta } from '../../src/meta/meta.ts'
import { NO_PEERS, type PeerProcesses } from '../../src/store/reclaim/reclamation-barrier.ts'
import { Store } from '../../src/store/store.ts'
import {
  ANY_DEAD,
  assertWhole,
  bytesOf,
  collect,
  FOLDER,
  freshStore,
  gate,
  makeBucket,
  PACKED_BYTES_MAX,
  payload,
  put,
  remove,
  settle,
  VOLUME_BYTES_MAX,
} from './fixture.ts'

interface Pair {
  /** Serves requests. */
  readonly worker: Store
  /** Runs maintenance, and knows the worker only through its epochs. */
  readonly upkeeper: Store
  /** From now on the maintaining process knows that the worker is dead. */
  readonly bury: () => void
}

async function pair(over: (meta: Meta) => Meta = meta => meta): Promise<Pair> {
  const { store: worker, ...ground } = await freshStore(1, over)
  let alive = true
  const others: PeerProcesses = {
    epoch(of) {
      const epochs = worker.context[of]
      const line = epochs.current()
      return { hasPassed: () => !alive || epochs.hasPassed(line) }
    },
    writers: async () => writer => alive && writer.equals(worker.context.ids.writer),
    holdReclamation: NO_PEERS.holdReclamation,
    reloadKeys: () => worker.context.keyring.reload(),
    reloadFindings: async () => {},
  }
  const { disk, meta, clock, random } = ground
  const ids = new Ids(random)
  const blobs = await openBlobs({
    disk,
    folder: `${FOLDER}/blobs`,
    writer: ids.writer,
    packedBytesMax: PACKED_BYTES_MAX,
    volumeBytesMax: VOLUME_BYTES_MAX,
    reserveBytes: 0,
  })
  const keyring = await Keyring.open({ storage: keyringInFolder(disk, FOLDER), random })
  const upkeeper = Store.open({ meta, blobs, keyring, clock, random, ids, others })
  await makeBucket(worker, 'bucket')
  const bury = (): void => {
    alive = false
  }
  return { worker, upkeeper, bury }
}

/** All maintenance, several times. */
async function tidyUp({ context }: Store, compactor = new Compactor(context, ANY_DEAD)): Promise<void> {
  const workers = [new Sweeper(context), compactor, new Reclaimer(context)]
  for (let round = 0; round < 3; round++) for (const worker of workers) await runUntilIdle(worker)
}

/** Commits that write the current version of `victim` wait. */
function holding(reached: () => void, until: Promise<void>): (meta: Meta) => Meta {
  return meta => ({
    get: address => meta.get(address),
    scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    close: () => meta.close(),
    commit: async tx => {
      if (tx.writes.some(write => write.key[0] === 'o'.charCodeAt(0) && write.key.includes('victim'))) {
        reached()
        await until
      }
      return meta.commit(tx)
    },
  })
}

for (const size of [50_000, 3 * 2 ** 20]) {
  test(`${size} bytes that one process reads are not freed by another`, async () => {
    const { worker, upkeeper } = await pair()
    await put(worker, 'bucket', 'key', payload(size))
    const handle = await worker.objects.open({ bucket: 'bucket', key: 'key' })
    await worker.context.blobs.closeVolume()
    await remove(worker, 'bucket', 'key')
    await tidyUp(upkeeper)
    assert.equal((await fsck(upkeeper.context)).blobs, 1)
    assert.ok((await collect(handle.read())).equals(payload(size)))
    await tidyUp(upkeeper)
    assert.equal((await fsck(upkeeper.context)).blobs, 0)
  })

  test(`${size} bytes that one process is about to name are not swept or compacted away by another`, async () => {
    const [written, committing] = [gate(), gate()]
    const { worker, upkeeper } = await pair(holding(written.open, committing.opened))
    await put(worker, 'bucket', 'first', payload(50_000, 1))
    const compactor = new Compactor(upkeeper.context, ANY_DEAD)
    const victim = put(worker, 'bucket', 'victim', payload(size, 2))
    await written.opened
    await remove(worker, 'bucket', 'first')
    await tidyUp(upkeeper, compactor)
    // Its volume closes while its commit is pending.
    await worker.context.blobs.closeVolume()
    await tidyUp(upkeeper, compactor)
    committing.open()
    await victim
    await tidyUp(upkeeper, compactor)
    assert.ok((await bytesOf(upkeeper, { bucket: 'bucket', key: 'victim' })).equals(payload(size, 2)))
  })
}

test('a volume is compacted only once the process that appends to it has exited', async () => {
  const { worker, upkeeper, bury } = await pair()
  await put(worker, 'bucket', 'dead', payload(50_000, 1))
  await put(worker, 'bucket', 'alive', payload(50_000, 2))
  await remove(worker, 'bucket', 'dead')
  const names = async () => (await upkeeper.context.blobs.volumes()).map(({ name }) => name)
  const before = await names()
  await tidyUp(upkeeper)
  assert.deepEqual(await names(), before)
  // Bytes appended from now on must be where their record says.
  await put(worker, 'bucket', 'later', payload(50_000, 3))
  bury()
  await tidyUp(upkeeper)
  assert.ok(!(await names()).includes(before[0]!))
  assert.ok((await bytesOf(upkeeper, { bucket: 'bucket', key: 'alive' })).equals(payload(50_000, 2)))
  assert.ok((await bytesOf(upkeeper, { bucket: 'bucket', key: 'later' })).equals(payload(50_000, 3)))
  await settle(upkeeper)
  await assertWhole(upkeeper)
})

test('unnamed bytes of a process are swept only after it has exited', async () => {
  const { worker, upkeeper, bury } = await pair()
  const { context } = worker
  context.drafts.enter()
  await context.blobs.write(context.ids.next(), [payload(200_000)])
  const sweeper = new Sweeper(upkeeper.context)
  await runUntilIdle(sweeper)
  assert.equal(sweeper.removed, 0)
  assert.equal(sweeper.isWaiting, true)
  bury()
  await runUntilIdle(sweeper)
  assert.equal(sweeper.removed, 1)
  assert.equal(sweeper.isWaiting, false)
})

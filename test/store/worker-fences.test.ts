/** The workers of a folder's owner: they start with it, and a new owner waits until they are gone. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import { realDisk } from '../../src/lib/disk.ts'
import { key } from '../../src/lib/keys.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import { joinFolder, openFolder } from '../../src/server/compose.ts'
import { FencedMeta, fenceAt } from '../../src/store/commit/fenced-meta.ts'
import { joinOwner, takeOwnership } from '../../src/store/commit/folder-ownership.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { registerWorkerFence, removeStrayFences, removeWorkerFence } from '../../src/store/commit/worker-fences.ts'
import { withFolder } from './fixture.ts'

const writer = (): Buffer => systemRandom.bytes(6)

test('a worker of an owner that has lost the folder is refused', async () => {
  await withFolder(async folder => {
    const meta = await openMemoryMeta()
    const before = await takeOwnership(folder, meta, realDisk, systemRandom)
    await (await joinOwner(folder, meta, before.incarnation, writer())).end()
    await before.end()
    const after = await takeOwnership(folder, meta, realDisk, systemRandom)
    await assert.rejects(joinOwner(folder, meta, before.incarnation, writer()), { name: 'OwnershipLost' })
    assert.equal((await readdir(folder)).filter(name => name.startsWith('worker-')).length, 0)
    await after.end()
  })
})

test('a new owner waits until the last worker of the previous owner has ended', async () => {
  await withFolder(async folder => {
    const meta = await openMemoryMeta()
    const before = await takeOwnership(folder, meta, realDisk, systemRandom)
    const workers = [await joinOwner(folder, meta, 1, writer()), await joinOwner(folder, meta, 1, writer())]
    // As if it had been killed: its socket is gone, and its workers have not noticed yet.
    await before.end()
    let waits = 0
    class Waiting extends ManualClock {
      override async sleep(ms: number): Promise<void> {
        waits++
        if (waits === 3) await workers[0]!.end()
        if (waits === 6) await workers[1]!.end()
        await super.sleep(ms)
      }
    }
    const after = await takeOwnership(folder, meta, realDisk, systemRandom, new Waiting())
    assert.equal(waits, 6)
    assert.equal(after.incarnation, 2)
    assert.deepEqual(
      (await readdir(folder)).filter(name => name.startsWith('worker-')),
      [],
    )
    await after.end()
  })
})

test('a worker that does not exit prevents a takeover of the folder', async () => {
  await withFolder(async folder => {
    const meta = await openMemoryMeta()
    const before = await takeOwnership(folder, meta, realDisk, systemRandom)
    const worker = await joinOwner(folder, meta, before.incarnation, writer())
    await before.end()
    const taking = takeOwnership(folder, meta, realDisk, systemRandom, new ManualClock())
    await assert.rejects(taking, { name: 'FolderInUse' })
    await worker.end()
    await (await takeOwnership(folder, meta, realDisk, systemRandom)).end()
  })
})

test('a worker commits only while its fence exists; pending commits have no effect afterwards', async () => {
  const meta = await openMemoryMeta()
  const engine = { meta, clock: new ManualClock(), random: systemRandom }
  const [one, two, server] = [writer(), writer(), writer()]
  const write = (value: string) => ({ checks: [], writes: [{ key: key('x', 'thing'), value: Buffer.from(value) }] })
  await assert.rejects(fenceAt(meta, recordKey.fence(one)), { name: 'OwnershipLost' })
  await registerWorkerFence(engine, one, server)
  await registerWorkerFence(engine, two, server)
  const first = new FencedMeta(meta, [await fenceAt(meta, recordKey.fence(one))])
  const second = new FencedMeta(meta, [await fenceAt(meta, recordKey.fence(two))])
  assert.equal(await first.commit(write('first')), true)
  await removeWorkerFence(engine, one)
  await assert.rejects(first.commit(write('too late')), { name: 'OwnershipLost' })
  assert.equal(await second.commit(write('second')), true)
  await removeStrayFences(engine, async () => false)
  await assert.rejects(second.commit(write('too late')), { name: 'OwnershipLost' })
  assert.equal((await meta.get(key('x', 'thing')))!.value.toString(), 'second')
})

test('owner and worker of one folder see each other’s writes and assign distinct ids', async () => {
  await withFolder(async folder => {
    const owner = await openFolder({ folder, durability: 'os' })
    const name = writer()
    await owner.admit(name)
    const generation = owner.copy?.journal.generation
    const worker = await joinFolder({
      folder,
      durability: 'os',
      incarnation: owner.incarnation,
      generation,
      writer: name,
    })
    await owner.store.buckets.create({ name: 'bucket', owner: 'owner', lockEnabled: false })
    const body = [Buffer.alloc(100_000, 1)]
    await worker.store.objects.put({ bucket: 'bucket', key: 'key', owner: 'owner', body })
    assert.equal((await owner.store.objects.head({ bucket: 'bucket', key: 'key' })).size, 100_000)
    const [volume] = await owner.store.context.blobs.volumes()
    assert.ok(volume!.writer.equals(name))
    await worker.close()
    await owner.dismiss(name)
    await owner.close()
  })
})

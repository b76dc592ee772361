import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { realDisk } from '../../src/lib/disk.ts'
import { key } from '../../src/lib/keys.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import { openFolder } from '../../src/server/compose.ts'
import { FencedMeta, fenceAt } from '../../src/store/commit/fenced-meta.ts'
import { takeOwnership } from '../../src/store/commit/folder-ownership.ts'
import { unguarded } from '../../src/store/commit/lost-record-guard.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import {
  assertWhole,
  bytesOf,
  freshStore,
  gate,
  makeBucket,
  openOn,
  payload,
  put,
  turn,
  verdict,
  withFolder,
} from './fixture.ts'

/** In this folder, with the same extension as this file. */
const CHILD = fileURLToPath(import.meta.url.replace(/folder-ownership\.test(\.\w+)$/, 'owner-child$1'))

function startServer(folder: string, ...rest: readonly string[]): { child: ChildProcess; said: Promise<string> } {
  const child = spawn(process.execPath, [CHILD, folder, ...rest], { stdio: ['pipe', 'pipe', 'inherit'] })
  const said = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', resolve)
    // Not on `exit`: its last output may still be pending.
    child.once('close', code => reject(new Error(`the other server ended with ${code} and said nothing`)))
  })
  return { child, said }
}

async function endServer(child: ChildProcess): Promise<void> {
  const gone = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
  child.stdin!.end()
  await gone
}

test('one server on a data folder: a second one in this process is refused while the first lives', async () => {
  await withFolder(async folder => {
    const first = await openFolder({ folder, durability: 'os' })
    await makeBucket(first.store, 'bucket')
    await assert.rejects(openFolder({ folder, durability: 'os' }), { name: 'FolderInUse' })
    await put(first.store, 'bucket', 'key', 'still works')
    await first.close()
    const second = await openFolder({ folder, durability: 'os' })
    assert.equal((await bytesOf(second.store, { bucket: 'bucket', key: 'key' })).toString(), 'still works')
    await second.close()
    assert.equal((await readdir(folder)).filter(name => name.endsWith('.sock')).length <= 1, true)
  })
})

test('one server on a data folder: a second process is refused, in both directions', async () => {
  await withFolder(async folder => {
    const mine = await openFolder({ folder, durability: 'os' })
    await makeBucket(mine.store, 'bucket')
    const refused = startServer(folder)
    assert.equal(await refused.said, 'FolderInUse')
    await endServer(refused.child)
    await mine.close()
    const other = startServer(folder)
    assert.equal(await other.said, 'owner')
    await assert.rejects(openFolder({ folder, durability: 'os' }), { name: 'FolderInUse' })
    await endServer(other.child)
    await (await openFolder({ folder, durability: 'os' })).close()
  })
})

test('after kill -9 of its owner a folder can be taken over, with all acknowledged data', async () => {
  await withFolder(async folder => {
    const before = await openFolder({ folder, durability: 'os' })
    await makeBucket(before.store, 'bucket')
    await before.close()
    const { child, said } = startServer(folder, 'from-the-other')
    assert.equal(await said, 'owner')
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
    const after = await openFolder({ folder, durability: 'os' })
    assert.equal((await bytesOf(after.store, { bucket: 'bucket', key: 'from-the-other' })).toString(), 'from-the-other')
    await after.close()
  })
})

test('of servers that start at once exactly one wins', async () => {
  await withFolder(async folder => {
    await (await openFolder({ folder, durability: 'os' })).close()
    const servers = [1, 2, 3].map(() => startServer(folder))
    const said = await Promise.all(servers.map(server => server.said))
    assert.deepEqual(said.sort(), ['FolderInUse', 'FolderInUse', 'owner'])
    await Promise.all(servers.map(server => endServer(server.child)))
  })
})

test('a store with a missing or foreign keyring does not start', async () => {
  await withFolder(async folder => {
    await (await openFolder({ folder, durability: 'os' })).close()
    await rm(join(folder, 'keyring'))
    await assert.rejects(openFolder({ folder, durability: 'os' }), /keyring .* is missing/)
  })
})

test('closing waits for the last commit before another server can take the folder', async () => {
  await withFolder(async folder => {
    const open = () => openFolder({ folder, durability: 'os' })
    const first = await open()
    const { drafts } = first.store.context
    // The engine itself: a server closes that, not the guard around it.
    const { meta } = unguarded(first.store.context)
    await makeBucket(first.store, 'bucket')
    await put(first.store, 'bucket', 'key', payload(2 * 2 ** 20, 1))
    const commit = meta.commit.bind(meta)
    const close = meta.close.bind(meta)
    const [reached, landing] = [gate(), gate()]
    meta.commit = async tx => {
      // For this commit only: others may follow it.
      meta.commit = commit
      reached.open()
      await landing.opened
      return commit(tx)
    }
    // Its bytes are written, and its commit is pending.
    const last = verdict(put(first.store, 'bucket', 'key', payload(2 * 2 ** 20, 2)))
    await reached.opened
    assert.equal(drafts.count, 1)
    let taken = 'never tried'
    meta.close = async () => {
      taken = await open().then(
        other => other.close().then(() => 'taken'),
        (error: Error) => error.name,
      )
      landing.open()
      assert.equal(await last, 'ok')
      await close()
    }
    await first.close()
    assert.equal(taken, 'FolderInUse')
    const second = await open()
    const sweeper = new Sweeper(second.store.context)
    await runUntilIdle(sweeper)
    assert.equal(sweeper.removed, 0)
    const bytes = await bytesOf(second.store, { bucket: 'bucket', key: 'key' })
    await second.close()
    assert.ok(bytes.equals(payload(2 * 2 ** 20, 2)))
  })
})

const THING = key('x', 'thing')
const writing = (value: string) => ({ checks: [], writes: [{ key: THING, value: Buffer.from(value) }] })

test('a fenced owner can commit until it is replaced, and never afterwards', async () => {
  await withFolder(async folder => {
    const meta = await openMemoryMeta()
    const before = await takeOwnership(folder, meta, realDisk, systemRandom)
    const old = new FencedMeta(meta, [await fenceAt(meta, recordKey.owner())])
    assert.equal(await old.commit(writing('old')), true)
    // Another process's change is a conflict like any other.
    assert.equal(await old.commit({ ...writing('newer'), checks: [{ key: THING, stamp: undefined }] }), false)
    await before.end()
    const after = await takeOwnership(folder, meta, realDisk, systemRandom)
    const now = new FencedMeta(meta, [await fenceAt(meta, recordKey.owner())])
    await assert.rejects(old.commit(writing('too late')), { name: 'OwnershipLost' })
    await assert.rejects(old.commit({ ...writing('x'), checks: [{ key: THING, stamp: undefined }] }), {
      name: 'OwnershipLost',
    })
    assert.equal((await meta.get(THING))!.value.toString(), 'old')
    assert.equal(await now.commit(writing('new')), true)
    assert.equal((await old.get(THING))!.value.toString(), 'new')
    await after.end()
  })
})

test('a write of an owner that was replaced meanwhile has no effect on the store of the new one', async () => {
  await withFolder(async folder => {
    const fresh = await freshStore()
    const before = await takeOwnership(folder, fresh.meta, realDisk, systemRandom)
    const old = await openOn({
      ...fresh,
      meta: new FencedMeta(fresh.meta, [await fenceAt(fresh.meta, recordKey.owner())]),
    })
    await makeBucket(old, 'bucket')
    await put(old, 'bucket', 'key', payload(100_000, 1))
    const waiting = gate()
    const body = async function* () {
      yield payload(100_000, 2)
      await waiting.opened
    }
    const late = old.objects.put({ bucket: 'bucket', key: 'key', owner: 'owner', body: body() }).then(
      () => 'ok',
      (error: Error) => error.name,
    )
    await turn()
    await before.end()
    const after = await takeOwnership(folder, fresh.meta, realDisk, systemRandom)
    const now = await openOn({
      ...fresh,
      meta: new FencedMeta(fresh.meta, [await fenceAt(fresh.meta, recordKey.owner())]),
    })
    waiting.open()
    assert.equal(await late, 'OwnershipLost')
    assert.ok((await bytesOf(now, { bucket: 'bucket', key: 'key' })).equals(payload(100_000, 1)))
    await assertWhole(now)
    await after.end()
  })
})

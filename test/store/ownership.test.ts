import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openFolder } from '../../src/compose.ts'
import { bytesOf, makeBucket, put, withFolder } from './fixture.ts'

/** Beside this file, with the ending that this file has. */
const CHILD = fileURLToPath(import.meta.url.replace(/ownership\.test(\.\w+)$/, 'owner-child$1'))

function startServer(folder: string, ...rest: readonly string[]): { child: ChildProcess; said: Promise<string> } {
  const child = spawn(process.execPath, [CHILD, folder, ...rest], { stdio: ['pipe', 'pipe', 'inherit'] })
  const said = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', resolve)
    child.once('exit', code => reject(new Error(`the other server ended with ${code} and said nothing`)))
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

test('one server on a data folder: also from another process, in both directions', async () => {
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

test('after kill -9 of its owner a folder can be taken, with all that was acknowledged', async () => {
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

test('a store whose keyring is gone or another one does not start', async () => {
  await withFolder(async folder => {
    await (await openFolder({ folder, durability: 'os' })).close()
    await rm(join(folder, 'keyring'))
    await assert.rejects(openFolder({ folder, durability: 'os' }), /keyring .* is missing/)
  })
})

/** The records of a folder move to another engine: beside a server, after every crash, and never to two stores. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import type { Meta, MetaEngine, Minitransaction } from '../../src/meta/meta.ts'
import { openFolder } from '../../src/server/compose.ts'
import { copyRecords, haveSameRecords } from '../../src/server/copy-records.ts'
import { moveMeta } from '../../src/server/move-meta.ts'
import { FolderInUse, ownerFormat } from '../../src/store/commit/folder-ownership.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { isServerRecord } from '../../src/store/commit/server-records.ts'
import { makeBucket, payload, put, remove, withFolder } from './fixture.ts'

const EVERYTHING = { start: Buffer.alloc(0), end: undefined }

async function rowsOf(meta: Pick<Meta, 'scan'>): Promise<Map<string, string>> {
  const entries = await meta.scan(EVERYTHING, 100_000)
  const rows = entries.filter(({ key }) => !isServerRecord(key))
  return new Map(rows.map(({ key, value }) => [key.toString('hex'), value.toString('hex')]))
}

/** Stays open for another run, as a database does. */
const targetOf = (meta: MetaEngine, name = 'postgres://somewhere/store') => ({
  name,
  open: async (): Promise<MetaEngine> => ({ ...bound(meta), close: async () => {} }),
})

const bound = (meta: MetaEngine): MetaEngine => ({
  get: (key, known) => meta.get(key, known),
  scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
  scanMap: (range, limit, make, verify) => meta.scanMap(range, limit, make, verify),
  commit: tx => meta.commit(tx),
  snapshot: () => meta.snapshot(),
  close: () => meta.close(),
})

const quiet = { progress: () => {} }

async function fill(folder: string, keys: number): Promise<void> {
  const parts = await openFolder({ folder, durability: 'os' })
  await makeBucket(parts.store, 'bucket', 'on')
  for (let n = 0; n < keys; n++) await put(parts.store, 'bucket', `key-${n % 40}`, payload(100 + n, n))
  await parts.close()
}

async function folderRows(folder: string): Promise<Map<string, string>> {
  const { openLmdbMeta } = await import('../../src/meta/lmdb/lmdb.ts')
  const meta = await openLmdbMeta({ path: join(folder, 'meta') })
  try {
    return await rowsOf(meta)
  } finally {
    await meta.close()
  }
}

test('a pass makes two engines equal, whatever the target had, and a second one finds nothing', async () => {
  const [source, target] = [await openMemoryMeta(), await openMemoryMeta()]
  const key = (n: number): Buffer => Buffer.from(`o${String(n).padStart(6, '0')}`)
  for (let n = 0; n < 3000; n++) {
    if (n % 3 !== 0) await source.commit({ checks: [], writes: [{ key: key(n), value: payload(n % 50, 1) }] })
    if (n % 5 !== 0) await target.commit({ checks: [], writes: [{ key: key(n), value: payload(n % 50, n % 2) }] })
  }
  await target.commit({ checks: [], writes: [{ key: recordKey.owner(), value: Buffer.from('own') }] })
  const { written, removed, records } = await copyRecords(source, target, () => {})
  assert.deepEqual([records, written > 500, removed > 500], [2000, true, true])
  assert.deepEqual(await rowsOf(target), await rowsOf(source))
  assert.equal((await target.get(recordKey.owner()))?.value.toString(), 'own')
  assert.deepEqual(await copyRecords(source, target, () => {}), { records: 2000, written: 0, removed: 0 })
})

test('a pass reports the keys it changed, and a lost write among them is detected', async () => {
  const [source, target] = [await openMemoryMeta(), await openMemoryMeta()]
  const [same, wanted, stale] = ['o-same', 'o-wanted', 'o-stale'].map(text => Buffer.from(text))
  for (const [meta, keys] of [
    [source, [same!, wanted!]],
    [target, [same!, stale!]],
  ] as const) {
    for (const key of keys) await meta.commit({ checks: [], writes: [{ key, value: payload(20) }] })
  }
  for (const isLost of [true, false]) {
    const changed: Buffer[] = []
    const losing = { ...bound(target), commit: async (tx: Minitransaction) => isLost || target.commit(tx) }
    await copyRecords(
      source,
      losing,
      () => {},
      key => void changed.push(key),
    )
    assert.deepEqual(changed.map(String).sort(), ['o-stale', 'o-wanted'])
    assert.equal(await haveSameRecords(source, target, changed), !isLost)
  }
})

test('records follow a writing server; finishing requires it to stop, and invalidates the folder', () =>
  withFolder(async folder => {
    await fill(folder, 60)
    const meta = await openMemoryMeta()
    const options = { folder, target: targetOf(meta), ...quiet }
    const parts = await openFolder({ folder })
    assert.equal((await moveMeta({ ...options, isFinal: false })).state, 'copied')
    await put(parts.store, 'bucket', 'later', payload(500))
    await remove(parts.store, 'bucket', 'key-3')
    await assert.rejects(moveMeta({ ...options, isFinal: true }), FolderInUse)
    await parts.close()
    const moved = await moveMeta({ ...options, isFinal: true })
    assert.equal(moved.state, 'moved')
    assert.deepEqual(await rowsOf(meta), await folderRows(folder))
    assert.equal(await meta.get(recordKey.incoming()), undefined)
    assert.equal(ownerFormat.decode((await meta.get(recordKey.owner()))!.value).incarnation, 2)
    await assert.rejects(openFolder({ folder }), /were moved to postgres:\/\/somewhere\/store: start with --meta/)
    assert.equal((await moveMeta({ ...options, isFinal: true })).state, 'moved')
    await assert.rejects(
      moveMeta({ ...options, target: targetOf(meta, 'postgres://else/x'), isFinal: true }),
      /was moved/,
    )
  }))

test('a move that stops at any commit leaves the folder as the store, or completes in the next run', () =>
  withFolder(async root => {
    for (let stopAt = 0, isComplete = false; !isComplete; stopAt++) {
      const folder = join(root, String(stopAt))
      await fill(folder, 30)
      const meta = await openMemoryMeta()
      let commits = 0
      const failing: MetaEngine = {
        ...bound(meta),
        commit: async tx => {
          if (commits++ === stopAt) throw new Error('stopped')
          return meta.commit(tx)
        },
      }
      isComplete = await moveMeta({ folder, target: targetOf(failing), isFinal: true, ...quiet }).then(
        () => true,
        () => false,
      )
      const isFolderStore = !existsSync(join(folder, 'moved'))
      const isDatabaseStore = (await meta.get(recordKey.incoming())) === undefined && (await rowsOf(meta)).size > 0
      assert(!(isFolderStore && isDatabaseStore), `two stores after ${stopAt} commits`)
      if (isFolderStore) {
        const parts = await openFolder({ folder, durability: 'os' })
        await put(parts.store, 'bucket', 'after', payload(300))
        await parts.close()
      }
      // A kill leaves the marker of the run behind.
      await writeFile(join(folder, 'moving'), '')
      assert.equal((await moveMeta({ folder, target: targetOf(meta), isFinal: true, ...quiet })).state, 'moved')
      assert(!existsSync(join(folder, 'moving')))
      assert.deepEqual(await rowsOf(meta), await folderRows(folder))
    }
  }))

test('a suspended run writes nothing once another one has begun', () =>
  withFolder(async folder => {
    await fill(folder, 30)
    const meta = await openMemoryMeta()
    let late: (() => Promise<boolean>) | undefined
    const suspending: MetaEngine = {
      ...bound(meta),
      commit: async tx => {
        // The claim goes through; the first records wait.
        if (tx.writes.length === 1) return meta.commit(tx)
        return new Promise((resolve, reject) => {
          late = async () => {
            const isDone = await meta.commit(tx)
            if (isDone) resolve(true)
            else reject(new Error('refused'))
            return isDone
          }
          resumed()
        })
      },
    }
    let resumed = (): void => {}
    const reached = new Promise<void>(resolve => {
      resumed = resolve
    })
    const first = moveMeta({ folder, target: targetOf(suspending), isFinal: false, ...quiet }).catch(() => 'failed')
    await reached
    assert.equal((await moveMeta({ folder, target: targetOf(meta), isFinal: true, ...quiet })).state, 'moved')
    const rows = await rowsOf(meta)
    assert.equal(await late!(), false)
    assert.equal(await first, 'failed')
    assert.deepEqual(await rowsOf(meta), rows)
  }))

test('a database that is not empty, or has another store, is refused', () =>
  withFolder(async folder => {
    await fill(join(folder, 'one'), 3)
    await fill(join(folder, 'two'), 3)
    const meta = await openMemoryMeta()
    await moveMeta({ folder: join(folder, 'one'), target: targetOf(meta), isFinal: false, ...quiet })
    const other = { folder: join(folder, 'two'), target: targetOf(meta), ...quiet }
    await assert.rejects(moveMeta({ ...other, isFinal: false }), /part of another store/)
    await moveMeta({ folder: join(folder, 'one'), target: targetOf(meta), isFinal: true, ...quiet })
    await assert.rejects(moveMeta({ ...other, isFinal: false }), /the database is not empty/)
  }))

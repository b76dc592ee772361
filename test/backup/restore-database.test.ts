/** A restore into a database excludes servers with other folders, from its first record to its last. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/lib/clock.ts'
import { realDisk } from '../../src/lib/disk.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { openMemoryMeta } from '../../src/meta/memory/memory.ts'
import type { Meta, MetaEngine, Minitransaction } from '../../src/meta/meta.ts'
import { restoreFolder, withVault } from '../../src/server/backups.ts'
import { openStore } from '../../src/server/compose.ts'
import { assertComplete } from '../../src/server/database-claim.ts'
import { type DatabaseMember, joinDatabase } from '../../src/server/database-member.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { isServerRecord } from '../../src/store/commit/server-records.ts'
import { shortOrLong } from '../long.ts'
import { withFolder } from '../store/fixture.ts'
import { withFilled } from './filled.ts'
import { assertSound, type Ground, rows, take } from './fixture.ts'

const EVERYTHING = { start: Buffer.alloc(0), end: undefined }

/** A database: it stays open for the next command, and a test sees the commits of this one. */
const seen = (meta: MetaEngine, commit: (tx: Minitransaction) => Promise<boolean>): Meta => ({
  get: (key, known) => meta.get(key, known),
  scan: (range, limit, reverse) => meta.scan(range, limit, reverse),
  scanMap: (range, limit, make, verify) => meta.scanMap(range, limit, make, verify),
  commit,
  close: async () => {},
})

function restoreTo(
  meta: MetaEngine,
  { vault, target }: Pick<Ground, 'vault' | 'target'>,
  commit = (tx: Minitransaction) => meta.commit(tx),
) {
  return withVault(vault, 'read', async kept => {
    const manifest = await kept.manifest((await kept.runs()).at(-1)!)
    const place = { folder: target, durability: 'os' } as const
    const options = { vault: kept, manifest, target: place, keyring: undefined, progress: () => {} }
    return restoreFolder(options, async () => seen(meta, commit))
  })
}

/** As a server with a folder of its own starts, up to its first use of the records. */
async function start(meta: MetaEngine, folder: string): Promise<DatabaseMember> {
  await realDisk.makeFolder(folder)
  const place = { folder, meta, clock: systemClock, random: systemRandom, address: undefined }
  const member = await joinDatabase({ ...place, isExclusive: true, onWait: () => {}, events: {} })
  await assertComplete(meta).catch(async error => {
    await member.leave()
    throw error
  })
  return member
}

const dataOf = async (meta: Meta) => (await meta.scan(EVERYTHING, 1e6)).filter(({ key }) => !isServerRecord(key))

async function assertRestored(meta: MetaEngine, folder: string, before: Map<string, string>): Promise<void> {
  const place = {
    disk: realDisk,
    folder,
    blobsPlace: join(folder, 'blobs'),
    durability: 'os',
    strictKeys: false,
  } as const
  const store = await openStore({ meta, ...place, clock: systemClock, random: systemRandom })
  const parts = { store, snapshot: () => meta.snapshot(), reloadFindings: async () => {}, close: async () => {} }
  try {
    assert.deepEqual(await rows(parts), before)
    await assertSound(parts)
  } finally {
    await store.context.blobs.close()
  }
}

const isClaim = ({ writes }: Minitransaction): boolean =>
  writes.some(({ key, value }) => key.equals(recordKey.incoming()) && value !== undefined)

test('P24: after an interruption at any commit no server starts on the database, and the same restore continues', () =>
  withFilled(async ground => {
    await take(ground)
    const before = await rows(ground.served.parts)
    await withFolder(async outer => {
      let isComplete = false
      for (let stopAt = 0; !isComplete; stopAt += shortOrLong(4, 1)) {
        for (const isWritten of [false, true]) {
          const target = join(outer, `${stopAt}-${isWritten}`)
          const meta = await openMemoryMeta()
          let commits = 0
          isComplete = await restoreTo(meta, { ...ground, target }, async tx => {
            const isLast = commits++ === stopAt
            const isCommitted = (!isLast || isWritten) && (await meta.commit(tx))
            if (isLast) throw new Error('stopped')
            return isCommitted
          }).then(
            () => true,
            () => false,
          )
          const isReleased = existsSync(join(target, 'keyring')) && (await meta.get(recordKey.incoming())) === undefined
          if ((await meta.scan(EVERYTHING, 1)).length > 0 && !isReleased) {
            await assert.rejects(start(meta, `${target}-other`), /partly moved or partly restored/)
            await assert.rejects(restoreTo(meta, { ...ground, target: `${target}-third` }), /or of another restore/)
            assert(!existsSync(join(`${target}-third`, 'restoring')))
          }
          assert.equal(existsSync(join(target, 'restoring')), !isComplete)
          if (!isComplete) await restoreTo(meta, { ...ground, target })
          assert(!existsSync(join(target, 'restoring')))
          await assertRestored(meta, target, before)
        }
      }
    })
  }))

test('a server that starts while a restore runs is refused, and the restore is complete', () =>
  withFilled(async ground => {
    await take(ground)
    const before = await rows(ground.served.parts)
    const meta = await openMemoryMeta()
    let starts = 0
    await restoreTo(meta, ground, async tx => {
      const isCommitted = await meta.commit(tx)
      if (!isClaim(tx) && (await dataOf(meta)).length > 0 && (await meta.get(recordKey.incoming())) !== undefined) {
        await assert.rejects(start(meta, `${ground.target}-${starts++}`), /partly restored/)
      }
      return isCommitted
    })
    assert(starts > 1, `${starts} starts`)
    await assertRestored(meta, ground.target, before)
    await (await start(meta, ground.target)).leave()
  }))

test('a restore is refused by a database that a server uses, and by one that it takes at the same moment', () =>
  withFilled(async ground => {
    await take(ground)
    for (const isBefore of [true, false]) {
      const meta = await openMemoryMeta()
      const server = `${ground.target}-server-${isBefore}`
      let member = isBefore ? await start(meta, server) : undefined
      const restoring = restoreTo(meta, ground, async tx => {
        member ??= await start(meta, server)
        return meta.commit(tx)
      })
      const refusal = isBefore ? /the database is not empty/ : /taken by another command or server/
      await assert.rejects(restoring, refusal).finally(() => member?.leave())
      assert.deepEqual(await dataOf(meta), [])
      assert.equal(await meta.get(recordKey.incoming()), undefined)
      assert(!existsSync(join(ground.target, 'restoring')))
    }
  }))

test('P24: a restore writes nothing once its database was emptied and has another store, also when continued', () =>
  withFilled(async ground => {
    await take(ground)
    const meta = await openMemoryMeta()
    let isEmptied = false
    const restoring = restoreTo(meta, ground, async tx => {
      const isRecords = tx.writes.some(({ key }) => !isServerRecord(key))
      if (isRecords && !isEmptied) {
        isEmptied = true
        for (const { key } of await meta.scan(EVERYTHING, 1e6)) {
          await meta.commit({ checks: [], writes: [{ key, value: undefined }] })
        }
        await (await start(meta, `${ground.target}-server`)).leave()
      }
      return meta.commit(tx)
    })
    await assert.rejects(restoring, /taken by another command or server/)
    assert(isEmptied)
    await assert.rejects(restoreTo(meta, ground), /the database is not empty/)
    assert.deepEqual(await dataOf(meta), [])
  }))

test('two restores of one folder at the same time do not both write', () =>
  withFilled(async ground => {
    await take(ground)
    const before = await rows(ground.served.parts)
    const meta = await openMemoryMeta()
    let others = 0
    await withVault(ground.vault, 'read', async kept => {
      const manifest = await kept.manifest((await kept.runs()).at(-1)!)
      const target = { folder: ground.target, durability: 'os' } as const
      const options = { vault: kept, manifest, target, keyring: undefined, progress: () => {} }
      const second = () => restoreFolder(options, async () => seen(meta, tx => meta.commit(tx)))
      await restoreFolder(options, async () =>
        seen(meta, async tx => {
          const isRecords = tx.writes.some(({ key }) => !isServerRecord(key))
          if (isRecords && others++ === 0) await assert.rejects(second(), /another server is using/)
          return meta.commit(tx)
        }),
      )
    })
    assert(others > 1)
    await assertRestored(meta, ground.target, before)
  }))

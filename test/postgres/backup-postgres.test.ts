/** P24. A store moves between metadata engines by a backup, and every row is the same on both sides. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { restoreFolder, withVault } from '../../src/server/backups.ts'
import { openFolder, type ServerParts } from '../../src/server/compose.ts'
import { assertSound, fill, rows, sourceOver, take, withGround } from '../backup/fixture.ts'
import { serverUrl, withDatabase } from './server.ts'

async function opened(target: Parameters<typeof openFolder>[0], use: (parts: ServerParts) => Promise<void>) {
  const parts = await openFolder({ ...target, durability: 'os' })
  try {
    await use(parts)
  } finally {
    await parts.close()
  }
}

const restoreTo = (vault: string, target: Parameters<typeof openFolder>[0]) =>
  withVault(vault, 'read', async kept => {
    const manifest = await kept.manifest((await kept.runs()).at(-1)!)
    return restoreFolder({ vault: kept, manifest, target, keyring: undefined, progress: () => {} })
  })

test(
  'P24: from LMDB to PostgreSQL and back again, every row and every byte',
  { skip: serverUrl === undefined && 'needs test/postgres/run.sh' },
  () =>
    withGround(async ground => {
      await fill(ground.served)
      await take(ground)
      const before = await rows(ground.served.parts)
      await withDatabase('backup', async metaUrl => {
        const there = { folder: ground.target, metaUrl }
        await restoreTo(ground.vault, there)
        const occupied = { folder: `${ground.target}-too`, metaUrl }
        await assert.rejects(restoreTo(ground.vault, occupied), /the database is not empty/)
        const vault = `${ground.vault}-of-postgres`
        await opened(there, async parts => {
          await assertSound(parts)
          assert.deepEqual(await rows(parts), before)
          await take({ vault, source: sourceOver(parts), data: there.folder })
        })
        const back = { folder: join(ground.target, '..', 'back') }
        await restoreTo(vault, back)
        await opened(back, async parts => {
          await assertSound(parts)
          assert.deepEqual(await rows(parts), before)
        })
      })
    }),
)

test(
  'P24: servers are refused by a database with an unfinished restore, while it runs and after it was interrupted',
  { skip: serverUrl === undefined && 'needs test/postgres/run.sh' },
  () =>
    withGround(async ground => {
      await fill(ground.served)
      await take(ground)
      const before = await rows(ground.served.parts)
      await withDatabase('restore', async metaUrl => {
        const there = { folder: ground.target, metaUrl }
        const others = { folder: `${ground.target}-others`, metaUrl }
        const isRefused = () => assert.rejects(openFolder(others), /partly restored/)
        await withVault(ground.vault, 'read', async vault => {
          const manifest = await vault.manifest((await vault.runs()).at(-1)!)
          const options = { vault, manifest, target: there, keyring: undefined }
          const progress = (): void => {
            throw new Error('interrupted')
          }
          const read = vault.blobs.read.bind(vault.blobs)
          let blobs = 0
          vault.blobs.read = async function* (...blob) {
            if (blobs++ === 0) await isRefused()
            yield* read(...blob)
          }
          await assert.rejects(restoreFolder({ ...options, progress }), /interrupted/)
          assert(blobs > 0)
          await isRefused()
          await restoreFolder({ ...options, progress: () => {} })
        })
        await opened(there, async parts => {
          await assertSound(parts)
          assert.deepEqual(await rows(parts), before)
        })
      })
    }),
)

/** Backups that the server takes itself, over the admin API. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { BackupLeases } from '../../src/backup/lease.ts'
import { type BackupPlace, ServerBackups } from '../../src/backup/server-backup.ts'
import { verifyBackups } from '../../src/backup/verify.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { backupPlace, withVault } from '../../src/server/backups.ts'
import { openMemory } from '../../src/server/compose.ts'
import { ReclamationLock } from '../../src/store/reclaim/reclamation-lock.ts'
import { gate, makeBucket, payload, put, withFolder } from '../store/fixture.ts'
import { signedInPage } from './console-fixture.ts'
import { type Consoled, withConsole } from './fixture.ts'

const path = '/v1/server-backup'
const start = (name: unknown) => ({ method: 'POST', path, body: { name } }) as const

async function ended({ ask }: Pick<Consoled, 'ask'>): Promise<Record<string, unknown>> {
  for (;;) {
    const state = (await ask({ path })).json()
    if (state.state !== 'running') return state
  }
}

const withPlace = (use: (consoled: Consoled, folder: string) => Promise<void>): Promise<void> =>
  withFolder(outer => {
    const folder = join(outer, 'backups')
    return withConsole(consoled => use(consoled, folder), { place: backupPlace(folder) })
  })

test('without the flag no backup is taken, and the answer names the flag', () =>
  withConsole(async ({ ask }) => {
    assert.deepEqual((await ask({ path })).json(), { state: 'never', writtenBytes: 0, backups: [] })
    const { status, text } = await ask(start('main'))
    assert.equal(status, 400)
    assert.match(text, /--backup-folder DIR/)
  }))

test('a backup is complete, the next one of its name copies what is new, and both verify', () =>
  withPlace(async (consoled, folder) => {
    const { ask, parts } = consoled
    await makeBucket(parts.store, 'bucket')
    await put(parts.store, 'bucket', 'one', payload(9000))
    const begun = await ask(start('main'))
    assert.deepEqual([begun.status, begun.json().state, begun.json().name], [202, 'running', 'main'])
    const first = await ended(consoled)
    assert.deepEqual([first.state, first.error, first.damaged], ['done', undefined, 0])
    assert.deepEqual(first.blobs, { count: 1, bytes: 9000, copied: 1, copiedBytes: 9000 })
    assert(Number(first.writtenBytes) > 9000)
    await put(parts.store, 'bucket', 'two', payload(8000))
    await ask(start('main'))
    const second = await ended(consoled)
    assert.deepEqual(second.blobs, { count: 2, bytes: 17_000, copied: 1, copiedBytes: 8000 })
    assert.equal(second.folder, folder)
    const [stored, ...more] = second.backups as { name: string; runs: number; newestAt: string }[]
    assert.deepEqual([stored!.name, stored!.runs, more], ['main', 2, []])
    assert(!Number.isNaN(Date.parse(stored!.newestAt)))
    const verified = await withVault(join(folder, 'main'), 'read', vault => verifyBackups(vault, () => {}))
    assert.deepEqual([verified.runs.length, verified.problems], [2, []])
  }))

test('only an administrator takes, sees and stops backups', () =>
  withPlace(async (consoled, folder) => {
    const { ask, accounts } = consoled
    const accountId = '111111111111'
    const key = { accessKey: 'AKSOMEBODY', secretKey: 'a-secret-of-some-length' }
    await accounts.create({ accountId })
    await accounts.createKey({ accountId, user: undefined, ...key })
    const page = await signedInPage(consoled, key)
    for (const method of ['GET', 'POST', 'DELETE'] as const) {
      const body = method === 'POST' ? { body: { name: 'main' } } : {}
      for (const as of [null, key]) assert.equal((await ask({ method, path, as, ...body })).status, 403, method)
      assert.equal((await page.ask({ method, path, ...body })).json().code, 'AccessDenied', method)
    }
    assert.deepEqual(readdirSync(join(folder, '..')), [])
  }))

test('a name cannot lead out of the folder', () =>
  withPlace(async ({ ask }, folder) => {
    const names = [
      '',
      '.',
      '..',
      '../x',
      '/etc',
      'a/b',
      'a\\b',
      '.hidden',
      '-x',
      'a b',
      'a\n',
      'a\0',
      'ä',
      'x'.repeat(65),
      7,
    ]
    for (const name of names) {
      assert.equal((await ask(start(name))).json().code, 'InvalidArgument', JSON.stringify(name))
    }
    assert.deepEqual(readdirSync(join(folder, '..')), [])
  }))

test('a folder with other files and a backup of another store are left as they are', () =>
  withPlace(async (consoled, folder) => {
    const { ask } = consoled
    mkdirSync(join(folder, 'photos'), { recursive: true })
    writeFileSync(join(folder, 'photos', 'a.jpg'), 'x')
    writeFileSync(join(folder, 'file'), 'x')
    await ask(start('photos'))
    assert.match(String((await ended(consoled)).error), /photos is not empty and has no backups/)
    assert.deepEqual(readdirSync(join(folder, 'photos')), ['a.jpg'])
    await withConsole(
      async other => {
        await other.ask(start('theirs'))
        assert.equal((await ended(other)).state, 'done')
      },
      { place: backupPlace(folder) },
    )
    await ask(start('theirs'))
    const refused = await ended(consoled)
    assert.deepEqual([refused.state, refused.error], ['failed', 'this folder contains backups of another store'])
    const [stored] = refused.backups as { runs: number }[]
    assert.equal(stored!.runs, 1)
    // The folder is in use by nobody now.
    await ask(start('ours'))
    assert.equal((await ended(consoled)).state, 'done')
  }))

test('one backup at a time, whether the server or a client takes it', () =>
  withPlace(async consoled => {
    const { ask } = consoled
    const begun = (await ask({ method: 'POST', path: '/v1/backups' })).json()
    assert.equal((await ask(start('main'))).json().code, 'OperationAborted')
    await ask({ method: 'DELETE', path: `/v1/backups/${begun.backup}` })
    await ask(start('main'))
    assert.equal((await ended(consoled)).state, 'done')
  }))

test('a stopped backup is incomplete, and the next one continues it', () =>
  withFolder(async folder => {
    const wait = gate()
    const real = backupPlace(folder)!
    const place: BackupPlace = {
      ...real,
      withVault: async (name, use) => {
        await wait.opened
        return real.withVault(name, use)
      },
    }
    const { store, snapshot, close } = await openMemory()
    const backups = new ServerBackups(new BackupLeases(store.context, snapshot), systemClock, place)
    backups.start('main')
    assert.throws(() => backups.start('main'), { code: 'OperationAborted' })
    const stopping = backups.stop()
    wait.open()
    assert.equal((await stopping).state, 'stopped')
    assert.equal(store.context.reclamationLock.isHeld, false)
    assert.deepEqual(await place.list(), [])
    backups.start('main')
    await backups.ended()
    assert.equal(backups.state.state, 'done')
    await backups.close()
    assert.throws(() => backups.start('main'), { code: 'OperationAborted' })
    await close()
  }))

test('a backup that verifies bytes of an interrupted one can be stopped meanwhile', () =>
  withFolder(async folder => {
    const real = backupPlace(folder)!
    let stopping: Promise<unknown> | undefined
    let pieces = 0
    const place: BackupPlace = {
      ...real,
      withVault: (name, use) =>
        real.withVault(name, vault => {
          const read = vault.blobs.read.bind(vault.blobs)
          vault.blobs.read = async function* (...args) {
            for await (const piece of read(...args)) {
              pieces++
              stopping ??= backups.stop()
              yield piece
            }
          }
          return use(vault)
        }),
    }
    const { store, snapshot, close } = await openMemory()
    await makeBucket(store, 'bucket')
    await put(store, 'bucket', 'long', payload(3_000_000))
    const backups = new ServerBackups(new BackupLeases(store.context, snapshot), systemClock, place)
    backups.start('main')
    await backups.ended()
    for (const file of readdirSync(join(folder, 'main', 'runs'))) rmSync(join(folder, 'main', 'runs', file))
    backups.start('main')
    await backups.ended()
    await stopping
    assert.deepEqual([backups.state.state, pieces], ['stopped', 1])
    backups.start('main')
    await backups.ended()
    assert.deepEqual([backups.state.state, backups.state.blobs?.copied], ['done', 0])
    await close()
  }))

test('a backup that could not begin does not keep others from beginning', async () => {
  const { store, snapshot, close } = await openMemory()
  let isUp = false
  const reclamationLock = new ReclamationLock(async () => {
    if (!isUp) throw new Error('the database does not answer')
    return () => {}
  })
  const leases = new BackupLeases({ ...store.context, reclamationLock }, snapshot)
  await assert.rejects(leases.start(), /does not answer/)
  isUp = true
  const { backup } = await leases.start()
  await leases.end(backup)
  assert.equal(reclamationLock.isHeld, false)
  await close()
})

/** A backup that a real server takes into its backup folder, restored by the command. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { HttpAdmin } from '../../src/cli/http-admin.ts'
import { S3Client } from '../../src/s3/client.ts'
import { BadConfig, readConfig } from '../../src/server/config.ts'
import { holdfast, ROOT, spawnServer } from '../cli/program.ts'
import { bytesOf, payload, withFolder } from '../store/fixture.ts'
import { opened } from './fixture.ts'

test('a backup that the server takes while it serves is verified and restored by the commands', () =>
  withFolder(async outer => {
    const [data, backups, target] = [join(outer, 'data'), join(outer, 'backups'), join(outer, 'new')]
    const server = await spawnServer(['--data', data, '--workers', '2', '--backup-folder', backups])
    try {
      const client = new S3Client({
        endpoint: new URL(server.url),
        bucket: 'load',
        region: 'us-east-1',
        key: ROOT,
        inFlight: 4,
      })
      await client.requestOnce({ method: 'PUT' })
      for (let i = 0; i < 5; i++) {
        await client.requestOnce({ method: 'PUT', key: `key-${i}`, body: payload(40 ** (i + 1) % 3_000_000, i) })
      }
      const admin = new HttpAdmin({ url: new URL(server.consoleUrl), key: ROOT, region: 'us-east-1', ca: undefined })
      let state = await admin.ask('StartServerBackup', { name: 'nightly' })
      while (state.state === 'running') state = await admin.ask('GetServerBackup')
      assert.deepEqual([state.state, state.error], ['done', undefined])
      await admin.close()
    } finally {
      assert.equal(await server.stop(), 0)
    }
    const vault = join(backups, 'nightly')
    assert.equal((await holdfast(['backup', 'verify', vault])).code, 0)
    const keyring = join(data, 'keyring')
    const restored = await holdfast(['restore', vault, '--data', target, '--keyring', keyring])
    assert.deepEqual([restored.code, restored.errors], [0, ''])
    await opened(target, async ({ store }) => {
      for (let i = 0; i < 5; i++) {
        const bytes = await bytesOf(store, { bucket: 'load', key: `key-${i}` })
        assert(bytes.equals(payload(40 ** (i + 1) % 3_000_000, i)))
      }
    })
  }))

test('the backup folder is a flag or a variable, and not within the data', () => {
  const of = (args: readonly string[], env = {}) => readConfig(args, env)!.backupFolder
  assert.equal(of([]), undefined)
  assert.equal(of(['--backup-folder', '/b']), '/b')
  assert.equal(of([], { HOLDFAST_BACKUP_FOLDER: '/b' }), '/b')
  assert.equal(of(['--data', '/srv/data', '--backup-folder', '/srv/data-backups']), '/srv/data-backups')
  assert.equal(of(['--memory', '--backup-folder', './data/b'])?.endsWith('/data/b'), true)
  for (const args of [
    ['--data', '/srv', '--backup-folder', '/srv'],
    ['--data', '/srv', '--backup-folder', '/srv/b'],
    ['--blobs', '/blobs', '--backup-folder', '/blobs/../blobs/b'],
    ['--backup-folder', ''],
  ]) {
    assert.throws(() => readConfig(args, {}), BadConfig, args.join(' '))
  }
})

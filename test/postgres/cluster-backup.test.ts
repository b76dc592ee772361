/** The backup of a cluster with its keyring, restored as another cluster under another cluster key. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFolder } from '../../src/server/compose.ts'
import { holdfast } from '../cli/program.ts'
import { bytesOf, makeBucket, payload, put, withFolder } from '../store/fixture.ts'
import { serverUrl, withDatabase } from './server.ts'

const skip = serverUrl === undefined && 'needs test/postgres/run.sh'

const settings = (name: string, digit: string) => ({ name, key: { kind: 'local', key: digit.repeat(64) } }) as const

async function run(...args: string[]): Promise<void> {
  const { code, errors } = await holdfast(args)
  assert.equal(code, 0, errors)
}

test('a backup with the keyring of a cluster is restored under another cluster key', { skip }, () =>
  withFolder(async folder => {
    const at = (name: string): string => join(folder, name)
    await writeFile(at('key'), '1'.repeat(64))
    await withDatabase('cluster_kept', async metaUrl => {
      const place = { folder: at('data'), metaUrl, blobsPlace: at('blobs'), cluster: settings('archive', '1') }
      const gateway = await openFolder(place)
      await makeBucket(gateway.store, 'bucket')
      await put(gateway.store, 'bucket', 'key', payload(50_000, 1))
      await gateway.store.namedKeys.rotate({ of: 'storage' })
      await put(gateway.store, 'bucket', 'later', payload(50_000, 2))
      await gateway.close()
      const flags = ['--data', at('data'), '--meta', metaUrl, '--blobs', at('blobs'), '--cluster', 'archive']
      await run('backup', at('vault'), '--with-keyring', ...flags, '--cluster-key-file', at('key'))
    })
    await withDatabase('cluster_restored', async metaUrl => {
      await run('restore', at('vault'), '--data', at('new'), '--meta', metaUrl, '--blobs', at('new-blobs'))
      const cluster = settings('restored', '2')
      const first = await openFolder({ folder: at('new'), metaUrl, blobsPlace: at('new-blobs'), cluster })
      const second = await openFolder({ folder: at('second'), metaUrl, blobsPlace: at('new-blobs'), cluster })
      for (const { store } of [first, second]) {
        assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'key' })).equals(payload(50_000, 1)))
        assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'later' })).equals(payload(50_000, 2)))
      }
      await second.close()
      await first.close()
    })
  }),
)

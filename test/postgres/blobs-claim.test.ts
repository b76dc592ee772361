/** Two stores in one place would free each other's blobs. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFolder } from '../../src/server/compose.ts'
import { BELOW_BUCKET, withStoreBelow } from '../blobs/s3-fixture.ts'
import { makeBucket, payload, put, withFolder } from '../store/fixture.ts'
import { serverUrl, withDatabase } from './server.ts'

const skip = serverUrl === undefined && 'needs test/postgres/run.sh'

test('a server on a database is refused the blobs of another store', { skip }, () =>
  withStoreBelow(({ hf }) =>
    withFolder(async folder => {
      const { endpoint, credentials } = hf.s3ClientConfig()
      process.env.HOLDFAST_BLOBS_ACCESS_KEY = credentials.accessKeyId
      process.env.HOLDFAST_BLOBS_SECRET_KEY = credentials.secretAccessKey
      const blobsPlace = `s3://${BELOW_BUCKET}/prefix?endpoint=${encodeURIComponent(endpoint)}`
      const start = async (name: string, metaUrl: string): Promise<void> =>
        (await openFolder({ folder: join(folder, name), metaUrl, blobsPlace })).close()
      await withDatabase('claim_one', async one => {
        await start('one', one)
        await withDatabase('claim_two', two => assert.rejects(start('two', two), /holds the blobs of another store/))
        await start('one', one)
      })
    }),
  ),
)

test('an empty database is refused the blobs of a folder whose metadata were not moved', { skip }, () =>
  withFolder(async folder => {
    const before = await openFolder({ folder })
    await makeBucket(before.store, 'bucket')
    await put(before.store, 'bucket', 'key', payload(70_000))
    await before.close()
    await withDatabase('claim_new', async metaUrl => {
      const start = async (): Promise<void> => (await openFolder({ folder, metaUrl })).close()
      await assert.rejects(start(), /has blobs, but these metadata are empty/)
    })
    await (await openFolder({ folder })).close()
  }),
)

/** The full check of one gateway while another one, too, changes the store. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFolder } from '../../src/server/compose.ts'
import { makeBucket, withFolder } from '../store/fixture.ts'
import { amidChanges, change, check, maintain } from '../store/online-fsck.ts'
import { serverUrl, withDatabase } from './server.ts'

const skip = serverUrl === undefined && 'needs test/postgres/run.sh'

test('a check has no findings while two gateways change the store', { skip }, () =>
  withFolder(folder =>
    withDatabase('online_fsck', async metaUrl => {
      const cluster = { name: 'checked', key: { kind: 'local', key: '1'.repeat(64) } } as const
      const place = { metaUrl, blobsPlace: join(folder, 'blobs'), cluster }
      const first = await openFolder({ ...place, folder: join(folder, 'first') })
      const second = await openFolder({ ...place, folder: join(folder, 'second') })
      await makeBucket(first.store, 'bucket')
      const clients = [first, second].map(
        ({ store }, seed) =>
          (stopped: () => Promise<boolean>) =>
            change(store, seed, stopped),
      )
      const maintenance = (stopped: () => Promise<boolean>): Promise<void> => maintain(first.store, stopped)
      await amidChanges([...clients, maintenance], { rounds: 2, changes: 4 }, async round => {
        const { problems, damage } = await check(first)
        assert.deepEqual([problems, damage], [[], []], `round ${round}`)
      })
      await second.close()
      await first.close()
    }),
  ),
)

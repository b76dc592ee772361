/** A change of keys by one process applies in every other, from the moment it is acknowledged. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { HttpAdmin } from '../../src/cli/http-admin.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { BASE_HOST, Client, type Who } from '../http/server.ts'
import { withFolder } from '../store/fixture.ts'
import { ROOT, spawnServer } from './program.ts'

const ONE = '111111111111'
/** Concurrent, so on separate connections, which the processes share. */
const AT_ONCE = 16
const ROUNDS = 10

test('A22: a key that the supervisor disables is refused by every worker, until it is enabled', () =>
  withFolder(async folder => {
    const server = await spawnServer(['--data', join(folder, 'data'), '--workers', '2', '--base-host', BASE_HOST])
    try {
      const admin = new HttpAdmin({ url: new URL(server.consoleUrl), key: ROOT, region: 'us-east-1', ca: undefined })
      await admin.ask('CreateAccount', { accountId: ONE })
      const key = (await admin.ask('CreateKey', { accountId: ONE })) as unknown as Who
      const clock = new ManualClock(Date.now())
      const client = new Client('svc', clock, Number(new URL(server.url).port))
      const statuses = async (): Promise<Set<number>> => {
        const asking = Array.from({ length: AT_ONCE }, () => client.send({ method: 'GET', path: '/', as: key }))
        return new Set((await Promise.all(asking)).map(({ status }) => status))
      }
      for (let round = 0; round < ROUNDS; round++) {
        assert.deepEqual(await statuses(), new Set([200]))
        await admin.ask('ChangeKey', { accessKey: key.accessKey, disabled: true })
        assert.deepEqual(await statuses(), new Set([403]))
        await admin.ask('ChangeKey', { accessKey: key.accessKey, disabled: false })
      }
      await admin.ask('DeleteKey', { accessKey: key.accessKey })
      assert.deepEqual(await statuses(), new Set([403]))
    } finally {
      assert.equal(await server.stop(), 0)
    }
  }))

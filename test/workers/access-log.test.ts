/** Server access logs of several processes: each delivers its own, at the latest when it exits. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { openFolder } from '../../src/server/compose.ts'
import { withFolder } from '../store/fixture.ts'
import { BUCKET, ROOT, withProgram } from './program.ts'

const TARGET = 'log-target'
const COUNT = 40

const STATUS =
  `<BucketLoggingStatus><LoggingEnabled><TargetBucket>${TARGET}</TargetBucket><TargetPrefix>of/</TargetPrefix>` +
  '</LoggingEnabled></BucketLoggingStatus>'

async function logsIn(folder: string): Promise<string[][]> {
  const { store, close } = await openFolder({ folder, durability: 'os' })
  try {
    const { items } = await store.listing.objects({ bucket: TARGET, prefix: 'of/', limit: 1000 })
    const logs: string[][] = []
    for (const { key } of items) {
      const handle = await store.objects.open({ bucket: TARGET, key })
      const pieces: Buffer[] = []
      for await (const piece of handle.read()) pieces.push(piece)
      handle.close()
      logs.push(Buffer.concat(pieces).toString().split('\n').filter(Boolean))
    }
    return logs
  } finally {
    await close()
  }
}

test('every request of a stopping server is in its access logs', () =>
  withFolder(async folder => {
    await withProgram(folder, async program => {
      const client = program.client()
      const headers: [string, string][] = [[':acl', 'log-delivery-write']]
      assert.equal((await client.send({ method: 'PUT', bucket: TARGET, path: '/', headers, as: ROOT })).status, 200)
      const md5 = createHash('md5').update(STATUS).digest('base64')
      const proof: [string, string][] = [['Content-MD5', md5]]
      const set = { method: 'PUT', bucket: BUCKET, path: '/?logging', body: STATUS, headers: proof, as: ROOT }
      assert.equal((await client.send(set)).status, 200)
      const sent = Array.from({ length: COUNT }, (_, at) =>
        program.client().send({ method: 'PUT', bucket: BUCKET, path: `/${at}`, body: 'x', as: ROOT }),
      )
      for (const { status } of await Promise.all(sent)) assert.equal(status, 200)
      assert.equal(await program.end(), 0)
    })
    const logs = await logsIn(folder)
    assert(logs.length >= 1 && logs.length <= 2, `${logs.length} objects`)
    const keys = logs.flat().map(line => / REST\.PUT\.OBJECT (\S+) /.exec(line)?.[1])
    assert.equal(new Set(keys.filter(key => key !== undefined)).size, COUNT)
  }))

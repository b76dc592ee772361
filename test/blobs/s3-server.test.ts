/** The program with `--blobs s3://…`: what it refuses, and that objects live in the other store. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { S3Client } from '../../src/s3/client.ts'
import { holdfast, ROOT, ROOT_ENV, spawned, spawnServer } from '../cli/program.ts'
import { payload, withFolder } from '../store/fixture.ts'
import { BELOW_BUCKET, BELOW_PREFIX, type StoreBelow, withStoreBelow } from './s3-fixture.ts'

const placeIn = ({ hf }: StoreBelow): string => `s3://${BELOW_BUCKET}/${BELOW_PREFIX}?endpoint=${hf.endpoint}`

const envOf = ({ options: { key } }: StoreBelow) => ({
  ...ROOT_ENV,
  HOLDFAST_BLOBS_ACCESS_KEY: key.accessKey,
  HOLDFAST_BLOBS_SECRET_KEY: key.secretKey,
})

test('objects are stored in the other store, and a second server may not use its prefix', () =>
  withStoreBelow(below =>
    withFolder(async folder => {
      const args = ['--blobs', placeIn(below), '--workers', '2', '--buckets', 'bucket']
      const server = await spawnServer(['--data', join(folder, 'data'), ...args], envOf(below))
      const endpoint = new URL(server.url)
      const client = new S3Client({ endpoint, bucket: 'bucket', region: 'us-east-1', key: ROOT, inFlight: 4 })
      try {
        for (const size of [100_000, 3 * 2 ** 20]) {
          const [key, body] = [`key-${size}`, payload(size)]
          await client.requestOnce({ method: 'PUT', key, body })
          assert((await client.requestOnce({ method: 'GET', key })).body.equals(body))
        }
        const names = (await below.keys()).map(name => name.split('/')[0])
        assert.deepEqual(names, ['solo', 'store', 'volumes'])
        const slow = below.hf.faults.add({ match: { method: 'GET' }, times: 2, fault: 'slow-down' })
        assert.equal((await client.requestOnce({ method: 'GET', key: 'key-100000' })).body.length, 100_000)
        assert.equal(slow.hits, 2)
      } finally {
        client.close()
        assert.equal(await server.stop(), 0, server.errors())
      }
      const other = ['serve', '--data', join(folder, 'other'), '--listen', '127.0.0.1:0', '--console', 'off', ...args]
      const refused = await spawned(other, { env: envOf(below) })
      assert.match(refused.errors, /has blobs, but these metadata are empty/)
      assert.notEqual(refused.code, 0)
      for (const name of await below.keys()) {
        if (name !== 'store') await below.direct({ method: 'DELETE', key: `${BELOW_PREFIX}${name}` })
      }
      const again = await spawned(other, { env: envOf(below) })
      assert.match(again.errors, /holds the blobs of another store \(object blobs\/a\/store\): use another prefix/)
    }),
  ))

test('a start without keys, or with keys in the address, is refused', () =>
  withStoreBelow(below =>
    withFolder(async folder => {
      const without = await spawned(['serve', '--data', folder, '--blobs', placeIn(below)], { env: ROOT_ENV })
      assert.match(without.errors, /need HOLDFAST_BLOBS_ACCESS_KEY and HOLDFAST_BLOBS_SECRET_KEY/)
      const place = placeIn(below).replace('s3://', 's3://me:hush@')
      const within = await holdfast(['serve', '--data', folder, '--blobs', place])
      assert.match(within.errors, /--blobs: an s3:\/\/ address must not contain access keys/)
      assert.doesNotMatch(within.errors, /hush/)
    }),
  ))

test('doctor tries the other store, leaves nothing in it, and names what makes it unfit', () =>
  withStoreBelow(below =>
    withFolder(async folder => {
      const look = async (place: string, env: NodeJS.ProcessEnv) => {
        const { out } = await spawned(['doctor', '--data', folder, '--blobs', place, '--json'], { env })
        const { findings } = JSON.parse(out) as { findings: { check: string; state: string; found: string }[] }
        return findings.filter(({ check }) => check === 'store')
      }
      const [first] = await look(placeIn(below), envOf(below))
      assert.equal(first?.state, 'good', first?.found)
      assert.deepEqual(await below.keys(), [])
      const [refused] = await look(placeIn(below), { ...envOf(below), HOLDFAST_BLOBS_SECRET_KEY: 'another' })
      assert.equal(refused?.state, 'bad')
      assert.doesNotMatch(refused!.found, /another/)
      await below.hf.close()
      const [gone] = await look(placeIn(below), envOf(below))
      assert.equal(gone?.state, 'bad')
    }),
  ))

/** How often a request waits for metadata that are behind a network. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { put } from './actions.ts'
import type { RemoteMeta } from './remote-meta.ts'
import { withRemoteServer } from './remote-server.ts'
import { type Client, makeBucket, type Sending } from './server.ts'

async function tripsOf(client: Client, meta: RemoteMeta, sent: Sending, status: number): Promise<number> {
  const before = meta.trips
  const answer = await client.send(sent)
  assert.equal(answer.status, status, `${sent.method} ${sent.path}: ${answer.body}`)
  return meta.trips - before
}

/** Longer than the part of its record that a listing reads. */
const SMALL = 'inline'.repeat(200)
const PACKED = Buffer.alloc(20_000, 'packed')

async function publicRead(client: Client, bucket: string): Promise<void> {
  const Statement = [{ Effect: 'Allow', Principal: '*', Action: 's3:*', Resource: `arn:aws:s3:::${bucket}*` }]
  const body = JSON.stringify({ Version: '2012-10-17', Statement })
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body })).status, 204)
}

for (const versioning of ['off', 'on'] as const) {
  for (const hasPolicy of [false, true]) {
    const title = `versioning ${versioning}, ${hasPolicy ? 'with' : 'without'} a policy`
    test(`round trips to remote metadata: ${title}`, () =>
      withRemoteServer(async (client, meta, { parts }) => {
        const bucket = await makeBucket(client)
        if (versioning === 'on') await parts.store.buckets.setVersioning(bucket, 'on')
        if (hasPolicy) await publicRead(client, bucket)
        await put(client, bucket, '/small', 'first')
        const older = await put(client, bucket, '/packed', PACKED)
        await put(client, bucket, '/small', SMALL)
        if (versioning === 'on') await put(client, bucket, '/packed', PACKED)
        const send = async (method: string, path: string, expected: number, more: Partial<Sending> = {}) => {
          const status = method === 'DELETE' ? 204 : more.headers === undefined ? 200 : 206
          const sent = { method, bucket, path, ...more }
          assert.equal(await tripsOf(client, meta, sent, status), expected, `${method} ${path}`)
        }
        const range = { headers: [['Range', 'bytes=1-3']] } as const
        // The first removal reads the lock clock's mark.
        await put(client, bucket, '/removed')
        await client.send({ method: 'DELETE', bucket, path: '/removed' })
        // The first request learns the bucket's documents and the object's blob.
        await client.send({ method: 'GET', bucket, path: '/small' })
        await send('GET', '/packed', 2)
        for (const signed of hasPolicy ? [{}, { as: null }] : [{}]) {
          await send('GET', '/small', 1, signed)
          await send('HEAD', '/small', 1, signed)
          await send('GET', '/packed', 1, signed)
          await send('HEAD', '/packed', 1, signed)
          await send('GET', '/packed', 1, { ...range, ...signed })
          if (older !== undefined) {
            await client.send({ method: 'GET', bucket, path: `/packed?versionId=${older}`, ...signed })
            await send('GET', `/packed?versionId=${older}`, 1, signed)
            await send('HEAD', `/packed?versionId=${older}`, 1, signed)
          }
          await send('GET', '/?list-type=2', 2, signed)
        }
        await send('PUT', '/new', 3, { body: 'bytes' })
        await send('PUT', '/packed', 3, { body: PACKED })
        await send('DELETE', '/new', 3)
      }))
  }
}

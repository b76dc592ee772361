/** Records that were read ahead, and changes that overtake them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { get, md5Header, put } from './actions.ts'
import type { RemoteMeta } from './remote-meta.ts'
import { withRemoteServer } from './remote-server.ts'
import { type Client, MAIN, makeBucket, OTHER, type Served } from './server.ts'

const PACKED = Buffer.alloc(20_000, 'packed')

/** OTHER's bucket becomes MAIN's, with a secret in it, at the given moment of OTHER's request. */
async function overtaken(
  client: Client,
  meta: RemoteMeta,
  { parts }: Served,
  at: { readonly kind: 'get' | 'scan'; readonly path: string },
): Promise<void> {
  const bucket = 'taken'
  const rule = (id: string): string =>
    `<LifecycleConfiguration><Rule><ID>${id}</ID><Filter><Prefix>a</Prefix></Filter><Status>Enabled</Status>` +
    '<Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>'
  const { buckets, documents, objects } = parts.store
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/', as: OTHER })).status, 200)
  const headers = [md5Header(rule('plain'))]
  const body = rule('plain')
  assert.equal(
    (await client.send({ method: 'PUT', bucket, path: '/?lifecycle', body, headers, as: OTHER })).status,
    200,
  )
  const plain = (await documents.get(bucket, 'lifecycle'))!
  let isOvertaken = false
  const run = async (): Promise<void> => {
    isOvertaken = true
    await buckets.remove(bucket)
    await buckets.create({ name: bucket, owner: MAIN.canonicalId, lockEnabled: false })
    await objects.put({ bucket, key: 'SECRET', owner: MAIN.canonicalId, body: [Buffer.from('SECRET')] })
    await documents.put(bucket, 'lifecycle', plain.replace('plain', 'SECRET'))
  }
  const takeOver = { kind: at.kind, when: 'before', run } as const
  // The first read of a request is the one ahead.
  meta.interruption =
    at.kind === 'scan'
      ? takeOver
      : {
          kind: 'get',
          when: 'after',
          async run() {
            meta.interruption = takeOver
          },
        }
  const answer = await client.send({ method: 'GET', bucket, path: at.path, as: OTHER })
  assert.equal(isOvertaken, true)
  assert.doesNotMatch(answer.body.toString(), /<Key>SECRET|<ID>SECRET|^SECRET/)
  assert([403, 404].includes(answer.status), `${answer.status}`)
}

for (const [what, at] of [
  ['a listing', { kind: 'scan', path: '/' }],
  ['a document', { kind: 'get', path: '/?lifecycle' }],
  ['an object', { kind: 'get', path: '/SECRET' }],
] as const) {
  test(`remote metadata: ${what} belongs to the bucket that was authorized, not to a later one of its name`, () =>
    withRemoteServer((client, meta, served) => overtaken(client, meta, served, at)))
}

test('remote metadata: an object that another gateway has replaced is read in its new state', () =>
  withRemoteServer(async (client, _meta, { parts }) => {
    const bucket = await makeBucket(client)
    const { objects } = parts.store
    for (const body of [PACKED, Buffer.alloc(30_000, 'second'), Buffer.from('inline'), Buffer.from('other')]) {
      // Through the store, so that the server's cache still has what it read before.
      await objects.put({ bucket, key: 'k', owner: MAIN.canonicalId, body: [body] })
      assert.deepEqual((await get(client, bucket, '/k')).body, body)
      assert.deepEqual((await get(client, bucket, '/k')).body, body)
    }
    await objects.remove({ bucket, key: 'k', owner: MAIN.canonicalId })
    assert.equal((await get(client, bucket, '/k')).status, 404)
  }))

test('remote metadata: an object that was read ahead stays readable while it is reclaimed', () =>
  withRemoteServer(async (client, meta, { parts }) => {
    const bucket = await makeBucket(client)
    const { objects, context } = parts.store
    const reclaimer = new Reclaimer(context)
    for (const isCached of [false, true]) {
      await put(client, bucket, '/k', PACKED)
      if (isCached) await get(client, bucket, '/k')
      meta.interruption = {
        kind: 'get',
        when: 'after',
        async run() {
          await objects.remove({ bucket, key: 'k', owner: MAIN.canonicalId })
          for (let steps = 0; steps < 5; steps++) await reclaimer.step()
        },
      }
      assert.deepEqual((await get(client, bucket, '/k')).body, PACKED)
      assert.equal(meta.interruption, undefined)
      assert.equal((await get(client, bucket, '/k')).status, 404)
    }
  }))

test('remote metadata: a policy that appears or changes takes effect with the next request', () =>
  withRemoteServer(async (client, _meta, { parts }) => {
    const bucket = await makeBucket(client)
    await put(client, bucket, '/k', 'bytes')
    const read = async (): Promise<number> =>
      (await client.send({ method: 'GET', bucket, path: '/k', as: OTHER })).status
    const policy = (Effect: string): string => {
      const Statement = [{ Effect, Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${bucket}/*` }]
      return JSON.stringify({ Version: '2012-10-17', Statement })
    }
    const { documents } = parts.store
    assert.equal(await read(), 403)
    await documents.put(bucket, 'policy', policy('Allow'))
    assert.equal(await read(), 200)
    await documents.put(bucket, 'policy', policy('Deny'))
    assert.equal(await read(), 403)
    await documents.put(bucket, 'policy', policy('Allow'))
    assert.equal(await read(), 200)
    await documents.remove(bucket, 'policy')
    assert.equal(await read(), 403)
  }))

/**
 * A request is authorized before its body has arrived. A client that delays the body while the bucket or object changes
 * owner must not act on the old authorization.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import type { KeyRange, Meta } from '../../src/meta/meta.ts'
import type { ServerParts } from '../../src/server/compose.ts'
import { keyRanges, recordKey } from '../../src/store/commit/record-keys.ts'
import { localOnly } from '../engines.ts'
import { md5Header, put } from './actions.ts'
import { beginning, textAt } from './parts.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, type Received, withServer } from './server.ts'

const POLICY = (bucket: string): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Principal: '*', Action: 's3:*', Resource: `arn:aws:s3:::${bucket}/*` }],
  })

/** Sends all but the end of the body, runs `meanwhile`, and sends the rest. */
async function slowly(
  client: Client,
  what: Parameters<Client['send']>[0],
  meanwhile: () => Promise<void>,
): Promise<Received> {
  return client.send({ ...what, meanwhile })
}

inBoth('a bucket that another owner recreated while the body arrived is reported as missing', async client => {
  const bucket = 'squat'
  const overtaken = async (path: string, body: string, method = 'PUT', headers: [string, string][] = []) => {
    assert.equal((await client.send({ method: 'PUT', bucket, path: '/', as: OTHER })).status, 200)
    const answer = await slowly(client, { method, bucket, path, body, headers, as: OTHER }, async () => {
      assert.equal((await client.send({ method: 'DELETE', bucket, path: '/', as: OTHER })).status, 204)
      await makeBucket(client, bucket)
      assert.equal((await client.send({ method: 'PUT', bucket, path: '/secret', body: 'TOPSECRET' })).status, 200)
    })
    assert.equal(answer.code(), 'NoSuchBucket', `${method} ${path}: ${answer.status} ${answer.body}`)
    const read = await client.send({ method: 'GET', bucket, path: '/secret', as: OTHER })
    assert.equal(read.status, 403)
    assert.equal((await client.send({ method: 'GET', bucket, path: '/secret' })).body.toString(), 'TOPSECRET')
    assert.equal((await client.send({ method: 'DELETE', bucket, path: '/secret' })).status, 204)
    assert.equal((await client.send({ method: 'DELETE', bucket, path: '/' })).status, 204)
  }
  await overtaken('/?policy', POLICY(bucket))
  await overtaken('/own', 'mine')
})

inBoth('R115: a hold is kept when its object changes owner while the body arrives', async client => {
  const bucket = await makeBucket(client, 'lockb', [
    [':bucket-object-lock-enabled', 'true'],
    [':acl', 'public-read-write'],
  ])
  const body = '<LegalHold><Status>OFF</Status></LegalHold>'
  const md5 = 'An8G3mv4SfhAibzslQjGDw=='
  const hold: [string, string][] = client.dialect === 'svc' ? [[':legal-hold', 'OFF']] : []
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/h', body: 'theirs', as: OTHER })).status, 200)
  const headers: [string, string][] = [['Content-MD5', md5], ...hold]
  const answer = await slowly(
    client,
    { method: 'PUT', bucket, path: '/h?legal-hold', body, headers, as: OTHER },
    async () => {
      const held: [string, string][] = [
        [':object-lock-legal-hold', 'ON'],
        ['Content-MD5', 'q9x5PHAKD5EQVmwJI5iYXw=='],
      ]
      const put = await client.send({ method: 'PUT', bucket, path: '/h', body: 'ours', headers: held })
      assert.equal(put.status, 200, put.body.toString())
    },
  )
  assert.equal(answer.code(), 'OperationAborted')
  const state = await client.send({ method: 'GET', bucket, path: '/h?legal-hold', as: MAIN })
  assert.match(state.body.toString(), /<Status>ON<\/Status>/)
})

/** A body without bytes, whose end the client can hold back. */
const EMPTY_BODY = { hash: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER', body: '0\r\n\r\n' }
const PUBLIC = [[':acl', 'public-read']] as const

/** How a public version of MAIN's, named by its id, becomes private. */
const PRIVATE_MEANWHILE = {
  'the only version is replaced': async (client: Client, bucket: string) => {
    await put(client, bucket, '/k', 'public', PUBLIC)
    return { id: 'null', hide: () => put(client, bucket, '/k', 'SECRET') }
  },
  'an older null version is replaced': async (client: Client, bucket: string, { store }: ServerParts) => {
    await put(client, bucket, '/k', 'public', PUBLIC)
    await store.buckets.setVersioning(bucket, 'on')
    await put(client, bucket, '/k', 'newer')
    await store.buckets.setVersioning(bucket, 'suspended')
    return { id: 'null', hide: () => put(client, bucket, '/k', 'SECRET') }
  },
  'its ACL is changed': async (client: Client, bucket: string, { store }: ServerParts) => {
    await store.buckets.setVersioning(bucket, 'on')
    const id = await put(client, bucket, '/k', 'SECRET', PUBLIC)
    const headers = [[':acl', 'private']] as const
    const hide = () => client.send({ method: 'PUT', bucket, path: `/k?acl&versionId=${id}`, headers })
    return { id, hide }
  },
}

for (const [how, prepare] of Object.entries(PRIVATE_MEANWHILE)) {
  inBoth(`A28 CopyObject UploadPartCopy: a source named by its id, and ${how}`, async (client, { parts }) => {
    const made = await client.send({ method: 'PUT', bucket: 'mine', path: '/', as: OTHER })
    assert.equal(made.status, 200)
    const upload = await beginning(client, 'mine', '/parts', [], OTHER)
    const part = `/parts?partNumber=1&uploadId=${textAt(upload.xml(), 'UploadId')}`
    for (const [bucket, path] of Object.entries({ one: '/copy', two: part })) {
      await makeBucket(client, bucket)
      const { id, hide } = await prepare(client, bucket, parts)
      const headers = [
        [':copy-source', `${bucket}/k?versionId=${id}`],
        [':decoded-content-length', '0'],
      ] as const
      const what = { method: 'PUT', bucket: 'mine', path, headers, as: OTHER, ...EMPTY_BODY }
      assert.equal((await client.send(what)).status, 200)
      const answer = await slowly(client, what, async () => void (await hide()))
      assert.equal(answer.code(), 'OperationAborted', `${path}: ${answer.status} ${answer.body}`)
    }
  })
}

test('what is shown is what was judged, also when a private object takes its place meanwhile', localOnly, () =>
  withServer(async ({ s3, parts }) => {
    const bucket = await makeBucket(s3)
    const headers: [string, string][] = [[':acl', 'public-read']]
    await s3.send({ method: 'PUT', bucket, path: '/k', body: 'public', headers })
    assert.equal((await s3.send({ method: 'GET', bucket, path: '/k', as: null })).body.toString(), 'public')
    const { objects, context } = parts.store
    const meta = context.meta as { get: Meta['get'] }
    const look = meta.get.bind(meta)
    let overtaken = false
    // Runs after the read that authorization is based on.
    meta.get = async key => {
      const seen = await look(key)
      if (!overtaken && key.equals(recordKey.current(bucket, 'k'))) {
        overtaken = true
        await objects.put({ bucket, key: 'k', owner: MAIN.canonicalId, body: [Buffer.from('PRIVATE')] })
      }
      return seen
    }
    const answer = await s3.send({ method: 'GET', bucket, path: '/k', as: null })
    assert.equal(overtaken, true)
    assert.equal(answer.body.toString(), 'public')
    assert.equal((await s3.send({ method: 'GET', bucket, path: '/k', as: null })).status, 403)
  }),
)

test('a bucket that is recreated by another owner during authorization is reported as missing', () =>
  withServer(async ({ s3, parts }) => {
    const bucket = 'swapped'
    const enforced: [string, string][] = [[':object-ownership', 'BucketOwnerEnforced']]
    assert.equal((await s3.send({ method: 'PUT', bucket, path: '/', headers: enforced, as: OTHER })).status, 200)
    const { buckets, objects, context } = parts.store
    const meta = context.meta as { get: Meta['get'] }
    const look = meta.get.bind(meta)
    let overtaken = false
    // The bucket has been authorized, and its object does not exist: a second read finds another owner's bucket.
    meta.get = async key => {
      const seen = await look(key)
      if (!overtaken && key.equals(recordKey.current(bucket, 'k'))) {
        overtaken = true
        await buckets.remove(bucket)
        await buckets.create({ name: bucket, owner: MAIN.canonicalId, lockEnabled: false })
        await objects.put({ bucket, key: 'k', owner: MAIN.canonicalId, body: [Buffer.from('PRIVATE')] })
      }
      return seen
    }
    const answer = await s3.send({ method: 'GET', bucket, path: '/k', as: OTHER })
    assert.equal(overtaken, true)
    assert.equal(answer.code(), 'NoSuchBucket', answer.body.toString())
  }))

/**
 * OTHER owns the bucket at authorization; before the read that `isNext` selects it becomes MAIN's, with a secret in it.
 */
const overtakenBefore = (what: string, path: string, isNext: (look: Look) => boolean) =>
  test(`what is read of a bucket belongs to the one that was judged, not to one of its name: ${what}`, localOnly, () =>
    withServer(async ({ s3, parts }) => {
      const bucket = 'taken'
      const rule = (id: string): string =>
        `<LifecycleConfiguration><Rule><ID>${id}</ID><Filter><Prefix>a</Prefix></Filter><Status>Enabled</Status>` +
        '<Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>'
      const enforced: [string, string][] = [[':object-ownership', 'BucketOwnerEnforced']]
      assert.equal((await s3.send({ method: 'PUT', bucket, path: '/', headers: enforced, as: OTHER })).status, 200)
      const { buckets, documents, objects, context } = parts.store
      const headers = [md5Header(rule('plain'))]
      const put = await s3.send({ method: 'PUT', bucket, path: '/?lifecycle', body: rule('plain'), headers, as: OTHER })
      assert.equal(put.status, 200, put.body.toString())
      const plain = (await documents.get(bucket, 'lifecycle'))!
      const policy = POLICY(bucket).replace('"*"', `{"SVC":"${MAIN.accountId}"}`)
      await documents.put(bucket, 'policy', policy)
      const meta = context.meta as { get: Meta['get']; scanMap: Meta['scanMap'] }
      const [get, scanMap] = [meta.get.bind(meta), meta.scanMap.bind(meta)]
      let overtaken = false
      const overtake = async (look: Look): Promise<void> => {
        if (overtaken || !isNext(look)) return
        overtaken = true
        await buckets.remove(bucket)
        await buckets.create({ name: bucket, owner: MAIN.canonicalId, lockEnabled: false })
        await objects.put({ bucket, key: 'SECRET', owner: MAIN.canonicalId, body: [Buffer.from('SECRET')] })
        await documents.put(bucket, 'lifecycle', plain.replace('plain', 'SECRET'))
        await documents.put(bucket, 'policy', policy.replace('{', '{"Id":"SECRET",'))
      }
      meta.get = async (key, known) => {
        await overtake({ key })
        return get(key, known)
      }
      meta.scanMap = async (range, limit, make) => {
        await overtake({ range })
        return scanMap(range, limit, make)
      }
      const answer = await s3.send({ method: 'GET', bucket, path, as: OTHER })
      assert.equal(overtaken, true)
      assert.doesNotMatch(answer.body.toString(), /<Key>SECRET|<ID>SECRET|"SECRET"|^SECRET/)
      assert([403, 404].includes(answer.status), `${answer.status}`)
    }),
  )

type Look = { readonly key?: Buffer; readonly range?: KeyRange }

overtakenBefore('an object', '/SECRET', ({ key }) => key?.equals(recordKey.current('taken', 'SECRET')) === true)
overtakenBefore('a listing', '/', ({ range }) => range !== undefined)
overtakenBefore(
  'a document',
  '/?lifecycle',
  ({ key }) => key?.equals(recordKey.document('taken', 'lifecycle')) === true,
)
overtakenBefore('a policy', '/?policy', ({ key }) => key?.equals(recordKey.document('taken', 'policy')) === true)

test('what was judged can be read to its end, also when it is deleted and reclaimed meanwhile', localOnly, () =>
  withServer(async ({ s3, parts }) => {
    const bucket = await makeBucket(s3)
    const body = Buffer.alloc(100_000, 7)
    await s3.send({ method: 'PUT', bucket, path: '/k', body })
    const { objects, context } = parts.store
    const reclaimer = new Reclaimer(context)
    const meta = context.meta as { get: Meta['get'] }
    const look = meta.get.bind(meta)
    const blobs = keyRanges.kind('b').start
    let overtaken = false
    let opened = false
    meta.get = async key => {
      const isOfBlob = key.subarray(0, blobs.length).equals(blobs)
      // The request has opened its object, and has read none of its bytes.
      if (overtaken && isOfBlob && !opened) {
        opened = true
        for (let steps = 0; steps < 5; steps++) await reclaimer.step()
      }
      const seen = await look(key)
      if (overtaken || !key.equals(recordKey.current(bucket, 'k'))) return seen
      // Runs after the read that authorization is based on: the epoch is taken before the request opens anything.
      overtaken = true
      await objects.remove({ bucket, key: 'k', owner: MAIN.canonicalId })
      assert.equal(await reclaimer.step(), 'idle')
      return seen
    }
    const answer = await s3.send({ method: 'GET', bucket, path: '/k' })
    meta.get = look
    assert.equal(overtaken, true)
    assert(answer.body.equals(body))
    assert.equal(context.readers.count, 0)
    assert.equal(await reclaimer.step(), 'busy')
    assert.equal((await s3.send({ method: 'GET', bucket, path: '/k' })).status, 404)
  }),
)

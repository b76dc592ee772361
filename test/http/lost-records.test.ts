/**
 * Records that the second copy of the metadata has and the engine lost: every operation that needs them is refused with
 * a separate code, and none reports them as deleted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lifecycle } from '../../src/maintenance/lifecycle.ts'
import { unguarded } from '../../src/store/commit/lost-record-guard.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { document, get, lockBucket, outcome, put, texts, versionedBucket } from './actions.ts'
import { DAY, hold, ok } from './lock-requests.ts'
import { begin, finish, MIB5, part } from './parts.ts'
import { inBoth, makeBucket, type Sending, type Served, withServer } from './server.ts'

const DAMAGED = '500 MetadataDamaged'

/** The engine has lost these records, and a comparison with the second copy has found it. */
async function lose({ parts }: Served, ...keys: readonly Buffer[]): Promise<void> {
  const { context } = parts.store
  const { meta } = unguarded(context)
  for (const key of keys) {
    assert.ok(await meta.get(key), 'there is no such record to lose')
    await meta.commit({ checks: [], writes: [{ key, value: undefined }] })
  }
  context.losses.replace({ keys, more: [] })
}

const found = ({ parts }: Served): void => parts.store.context.losses.replace({ keys: [], more: [] })

inBoth('every operation on an object whose record is lost is refused, and changes nothing', async (client, served) => {
  const bucket = await versionedBucket(client, served.parts)
  const id = await put(client, bucket, '/k')
  await put(client, bucket, '/other')
  const record = (await served.parts.store.context.meta.get(recordKey.current(bucket, 'k')))!
  await lose(served, recordKey.current(bucket, 'k'))
  const tags = '<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>'
  const requests: Sending[] = [
    { method: 'GET', path: '/k' },
    { method: 'GET', path: `/k?versionId=${id}` },
    { method: 'GET', path: '/k?acl' },
    { method: 'GET', path: '/k?tagging' },
    { method: 'PUT', path: '/k', body: 'new' },
    { method: 'PUT', path: '/k?tagging', ...document(tags) },
    { method: 'PUT', path: '/k?acl', headers: [[':acl', 'private']] },
    { method: 'PUT', path: '/copy', headers: [[':copy-source', `/${bucket}/k`]] },
    { method: 'PUT', path: '/k', headers: [[':copy-source', `/${bucket}/other`]] },
    { method: 'DELETE', path: '/k' },
    { method: 'DELETE', path: `/k?versionId=${id}` },
    { method: 'GET', path: '/?list-type=2' },
    { method: 'GET', path: '/?versions' },
    { method: 'DELETE', path: '/' },
  ]
  for (const request of requests) {
    const answer = await client.send({ ...request, bucket })
    assert.equal(outcome(answer), DAMAGED, `${request.method} ${request.path}`)
    assert.match(answer.body.toString(), /holdfast rebuild/)
  }
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 500)
  assert.equal(outcome(await get(client, bucket, '/other')), '200')
  assert.equal(outcome(await get(client, bucket, '/never-there')), '404 NoSuchKey')
  // As after a rebuild.
  found(served)
  const { meta } = served.parts.store.context
  await meta.commit({ checks: [], writes: [{ key: record.key, value: record.value }] })
  assert.equal((await get(client, bucket, `/k?versionId=${id}`)).body.toString(), 'bytes')
})

inBoth('DeleteObjects reports a lost key as an error and deletes the others', async (client, served) => {
  const bucket = await makeBucket(client, 'some-bucket')
  for (const key of ['/a', '/b']) await put(client, bucket, key)
  await lose(served, recordKey.current(bucket, 'a'))
  const list = '<Delete><Object><Key>a</Key></Object><Object><Key>b</Key></Object></Delete>'
  const answer = await client.send({ method: 'POST', bucket, path: '/?delete', ...document(list) })
  assert.equal(answer.status, 200, answer.body.toString())
  assert.deepEqual(texts(answer.xml(), 'Code'), ['MetadataDamaged'])
  assert.equal(outcome(await get(client, bucket, '/b')), '404 NoSuchKey')
})

inBoth('a listing fails only where it would omit a lost key', async (client, served) => {
  const bucket = await makeBucket(client, 'some-bucket')
  for (const key of ['/a/1', '/m', '/z/1', '/z/2']) await put(client, bucket, key)
  await lose(served, recordKey.current(bucket, 'm'))
  const list = async (query: string): Promise<string> =>
    outcome(await client.send({ method: 'GET', bucket, path: `/?${query}` }))
  for (const query of [
    'list-type=2',
    'marker=a',
    'delimiter=%2F',
    'list-type=2&start-after=a',
    'prefix=m',
    'versions',
  ]) {
    assert.equal(await list(query), DAMAGED, query)
  }
  for (const query of [
    'list-type=2&prefix=a%2F',
    'prefix=z%2F',
    'list-type=2&start-after=m',
    'delimiter=%2F&marker=n',
  ]) {
    assert.equal(await list(query), '200', query)
  }
})

inBoth('P10: a bucket whose only version is held and lost is not empty', async (client, served) => {
  const bucket = await lockBucket(client)
  await put(client, bucket, '/held')
  await ok(hold(client, bucket, '/held', 'ON'))
  await put(client, bucket, '/held', 'newer')
  const { store } = served.parts
  const older = (
    await store.context.meta.scan({ start: recordKey.older(bucket, 'held', 2 ** 48), end: undefined }, 1)
  )[0]!
  await lose(served, older.key, recordKey.current(bucket, 'held'))
  for (const path of ['/', '/held']) {
    assert.equal(outcome(await client.send({ method: 'DELETE', bucket, path })), DAMAGED)
  }
  assert.equal(outcome(await hold(client, bucket, '/held', 'OFF')), DAMAGED)
})

inBoth('lost records of uploads, parts, contents, policies and buckets', async (client, served) => {
  const bucket = await makeBucket(client, 'some-bucket')
  const upload = await begin(client, bucket, '/in-parts')
  const listed = await part(client, upload, 1, Buffer.alloc(MIB5))
  const id = Buffer.from(upload.id, 'hex')
  await lose(served, recordKey.part(id, 1))
  assert.equal(outcome(await finish(client, upload, [listed])), DAMAGED)
  const uploads = `/in-parts?uploadId=${upload.id}`
  assert.equal(outcome(await get(client, bucket, uploads)), DAMAGED)
  await lose(served, recordKey.upload(bucket, 'in-parts', id))
  assert.equal(outcome(await client.send({ method: 'DELETE', bucket, path: uploads })), DAMAGED)
  assert.equal(outcome(await get(client, bucket, '/?uploads')), DAMAGED)
  await put(client, bucket, '/large', Buffer.alloc(100_000))
  const { meta } = served.parts.store.context
  const contents = await meta.scan({ start: Buffer.from('b'), end: Buffer.from('d') }, 100)
  await lose(served, ...contents.map(({ key }) => key))
  const reading = await get(client, bucket, '/large').catch(() => undefined)
  assert.ok(reading === undefined || reading.status === 500, 'lost bytes were served')
  const policy = JSON.stringify({ Version: '2012-10-17', Statement: [] })
  await served.parts.store.documents.put(bucket, 'policy', policy)
  await lose(served, recordKey.document(bucket, 'policy'))
  assert.equal(outcome(await get(client, bucket, '/large')), DAMAGED)
  await lose(served, recordKey.bucket(bucket))
  assert.equal(outcome(await get(client, bucket, '/')), DAMAGED)
  assert.equal(outcome(await client.send({ method: 'PUT', bucket, path: '/' })), DAMAGED)
})

test('P11: lifecycle is suspended while records are lost', () =>
  withServer(async served => {
    const { svc, parts, clock } = served
    const bucket = await makeBucket(svc, 'some-bucket')
    await put(svc, bucket, '/due')
    await put(svc, bucket, '/lost')
    const rule = '<Rule><ID>r</ID><Filter/><Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule>'
    const rules = `<LifecycleConfiguration>${rule}</LifecycleConfiguration>`
    await ok(svc.send({ method: 'PUT', bucket, path: '/?lifecycle', ...document(rules) }))
    clock.move(3 * DAY)
    await lose(served, recordKey.current(bucket, 'lost'))
    const lifecycle = new Lifecycle(parts.store.context)
    assert.equal(await lifecycle.step(), 'idle')
    assert.equal(outcome(await get(svc, bucket, '/due')), '200')
    found(served)
    while ((await lifecycle.step()) === 'busy');
    assert.equal(lifecycle.removed, 1)
  }))

test('when more records of a kind are lost than are listed, none of that kind is reported as missing', () =>
  withServer(async served => {
    const { svc, parts } = served
    const bucket = await makeBucket(svc, 'some-bucket')
    await put(svc, bucket, '/there')
    parts.store.context.losses.replace({ keys: [], more: [recordKey.current(bucket, 'k')[0]!] })
    assert.equal(outcome(await get(svc, bucket, '/there')), '200')
    assert.equal(outcome(await get(svc, bucket, '/k')), DAMAGED)
    assert.equal(outcome(await get(svc, bucket, '/')), DAMAGED)
  }))

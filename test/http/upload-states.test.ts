/** R33–R37. An upload from creation to completion, with everything that may happen concurrently. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fsck } from '../../src/maintenance/fsck.ts'
import { Lifecycle } from '../../src/maintenance/lifecycle.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import type { Meta } from '../../src/meta/meta.ts'
import type { ServerParts } from '../../src/server/compose.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { localOnly } from '../engines.ts'
import { assertWhole, settle, turn } from '../store/fixture.ts'
import { document, md5Header, outcome, put, versionedBucket } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import {
  begin,
  childrenAt,
  expectFault,
  finish,
  type Listed,
  MIB5,
  type Place,
  part,
  putPart,
  textAt,
} from './parts.ts'
import { type Client, inBoth, makeBucket, type Sending, withServer } from './server.ts'

const abort = (client: Client, { bucket, path, id }: Place) =>
  client.send({ method: 'DELETE', bucket, path: `${path}?uploadId=${id}` })
const list = (client: Client, { bucket, path, id }: Place) =>
  client.send({ method: 'GET', bucket, path: `${path}?uploadId=${id}` })
const get = (client: Client, bucket: string, path: string) => client.send({ method: 'GET', bucket, path })

/** The contents of the disk after maintenance. */
async function stored({ store }: ServerParts): Promise<{ blobs: number; bytes: number }> {
  await settle(store)
  await assertWhole(store)
  const { blobs } = await fsck(store.context)
  const volumes = await store.context.blobs.volumes()
  return { blobs, bytes: volumes.reduce((sum, { bytes }) => sum + bytes, 0) }
}

inBoth('R37 an upload is not visible as an object until it is completed', async client => {
  const bucket = await makeBucket(client, 'test-bucket', [[':bucket-object-lock-enabled', 'true']])
  const place = await begin(client, bucket, '/k', [[':meta-of', 'upload']])
  const one = await part(client, place, 1, 'upload')
  const acl: Sending = { method: 'PUT', bucket, path: '/k?acl', headers: [[':acl', 'public-read']] }
  const hold: Sending = {
    method: 'PUT',
    bucket,
    path: '/k?legal-hold',
    ...document('<LegalHold><Status>ON</Status></LegalHold>', client.dialect === 'svc' ? [[':legal-hold', 'ON']] : []),
  }
  const copy: Sending = { method: 'PUT', bucket, path: '/copy', headers: [[':copy-source', `${bucket}/k`]] }
  for (const sending of [{ method: 'GET', bucket, path: '/k' }, acl, hold, copy]) {
    assert.equal(outcome(await client.send(sending)), '404 NoSuchKey', sending.path)
  }
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 404)
  await put(client, bucket, '/k', 'object', [md5Header('object')])
  for (const sending of [acl, hold, copy]) assert.equal((await client.send(sending)).status, 200, sending.path)
  assert.equal((await get(client, bucket, '/k')).body.toString(), 'object')
  const other = await begin(client, bucket)
  assert.equal((await finish(client, other, [await part(client, other, 1, 'other')])).status, 200)
  assert.equal((await get(client, bucket, '/k')).body.toString(), 'other')
  assert.equal((await finish(client, place, [one])).status, 200)
  const got = await get(client, bucket, '/k')
  assert.deepEqual([got.body.toString(), got.own('meta-of')], ['upload', 'upload'])
  for (const answer of [await putPart(client, place, 1, 'x'), await list(client, place), await abort(client, place)]) {
    expectFault(answer, 404, 'NoSuchUpload')
  }
})

inBoth(
  'R34 UploadPart: of two at once the one that began last stays, and the other is not acknowledged',
  async (client, { parts }) => {
    const bucket = await makeBucket(client)
    const place = await begin(client, bucket)
    let newer = ''
    const path = `/k?partNumber=1&uploadId=${place.id}`
    const older = await client.send({
      method: 'PUT',
      bucket,
      path,
      body: 'older and slower',
      async meanwhile() {
        while (parts.store.context.drafts.count === 0) await turn()
        client.clock.move(1)
        newer = (await part(client, place, 1, 'newer')).etag
      },
    })
    expectFault(older, 503, 'SlowDown')
    assert.equal(older.headers.get('etag'), undefined)
    const shown = (await list(client, place)).xml()
    assert.deepEqual(
      childrenAt(shown, 'Part').map(one => textAt(one, 'ETag')),
      [newer],
    )
    assert.equal((await finish(client, place, [{ number: 1, etag: newer }])).status, 200)
    assert.equal((await get(client, bucket, '/k')).body.toString(), 'newer')
  },
)

inBoth('R35 CompleteMultipartUpload: unlisted parts are discarded with their bytes', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  const before = await stored(parts)
  const place = await begin(client, bucket)
  const listed: Listed[] = []
  for (const number of [1, 2, 3]) listed.push(await part(client, place, number, Buffer.alloc(MIB5, String(number))))
  const replaced = await part(client, place, 1, Buffer.alloc(MIB5, 'replaced'))
  assert.equal((await finish(client, place, [replaced, listed[2]!])).status, 200)
  const got = await get(client, bucket, '/k')
  assert(got.body.equals(Buffer.concat([Buffer.alloc(MIB5, 'replaced'), Buffer.alloc(MIB5, '3')])))
  const uploads = await get(client, bucket, '/?uploads')
  assert.deepEqual(childrenAt(uploads.xml(), 'Upload'), [])
  assert.equal((await stored(parts)).blobs - before.blobs, 2)
})

inBoth(
  'R36 UploadPart: a part that arrives after the abort is refused and leaves nothing',
  async (client, { parts }) => {
    const bucket = await makeBucket(client)
    const place = await begin(client, bucket)
    await part(client, place, 1, Buffer.alloc(MIB5, 'x'))
    const late = await client.send({
      method: 'PUT',
      bucket,
      path: `/k?partNumber=2&uploadId=${place.id}`,
      body: Buffer.alloc(MIB5, 'late'),
      async meanwhile() {
        assert.equal((await abort(client, place)).status, 204)
      },
    })
    expectFault(late, 404, 'NoSuchUpload')
    expectFault(await abort(client, place), 404, 'NoSuchUpload')
    expectFault(await finish(client, place, [{ number: 1, etag: 'x' }]), 404, 'NoSuchUpload')
    assert.deepEqual(await stored(parts), { blobs: 0, bytes: 0 })
  },
)

inBoth('R36 UploadPart: a part that arrives after the completion leaves nothing', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket)
  const one = await part(client, place, 1, Buffer.alloc(MIB5, 'x'))
  const late = await client.send({
    method: 'PUT',
    bucket,
    path: `/k?partNumber=1&uploadId=${place.id}`,
    body: Buffer.alloc(MIB5, 'late'),
    async meanwhile() {
      assert.equal((await finish(client, place, [one])).status, 200)
    },
  })
  expectFault(late, 404, 'NoSuchUpload')
  assert((await get(client, bucket, '/k')).body.equals(Buffer.alloc(MIB5, 'x')))
  assert.equal((await stored(parts)).blobs, 1)
})

inBoth(
  'R100 AbortMultipartUpload: the space of the parts is freed, and shared bytes stay',
  async (client, { parts }) => {
    const bucket = await makeBucket(client)
    const from = Buffer.alloc(MIB5, 'source')
    await put(client, bucket, '/from', from)
    const before = await stored(parts)
    const place = await begin(client, bucket)
    for (const number of [1, 2, 3]) await part(client, place, number, Buffer.alloc(100_000 * number, 'p'))
    const shared = { method: 'PUT', bucket, path: `/k?partNumber=4&uploadId=${place.id}` }
    assert.equal((await client.send({ ...shared, headers: [[':copy-source', `${bucket}/from`]] })).status, 200)
    assert.equal((await stored(parts)).blobs - before.blobs, 3)
    assert.equal((await abort(client, place)).status, 204)
    assert.deepEqual(await stored(parts), before)
    assert((await get(client, bucket, '/from')).body.equals(from))
  },
)

inBoth('R84 CompleteMultipartUpload: an upload aborted by lifecycle is NoSuchUpload', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  const days = '<DaysAfterInitiation>2</DaysAfterInitiation>'
  const action = `<AbortIncompleteMultipartUpload>${days}</AbortIncompleteMultipartUpload>`
  const rule = `<Rule><Filter><Prefix>a/</Prefix></Filter><Status>Enabled</Status>${action}</Rule>`
  await documentsOf(client, bucket, 'lifecycle').put(`<LifecycleConfiguration>${rule}</LifecycleConfiguration>`)
  const places = [await begin(client, bucket, '/a/stale'), await begin(client, bucket, '/b/kept')] as const
  const listed = [await part(client, places[0], 1, 'x'), await part(client, places[1], 1, 'x')] as const
  client.clock.move(3 * 86_400_000)
  await runUntilIdle(new Lifecycle(parts.store.context))
  expectFault(await finish(client, places[0], [listed[0]]), 404, 'NoSuchUpload')
  assert.equal((await finish(client, places[1], [listed[1]])).status, 200)
})

inBoth(
  'R93 R94 D3 D4 CompleteMultipartUpload: of concurrent If-None-Match completions one succeeds',
  async (client, { parts }) => {
    const bucket = await versionedBucket(client, parts)
    const uploads = []
    for (let i = 0; i < 8; i++) {
      const place = await begin(client, bucket)
      uploads.push({ place, listed: [await part(client, place, 1, `from ${i}`)] })
    }
    const all = uploads.map(({ place, listed }) => finish(client, place, listed, [['If-None-Match', '*']]))
    const answers = await Promise.all(all)
    const won = answers.findIndex(answer => answer.status === 200)
    const refused = client.dialect === 'svc' ? 304 : 412
    assert.deepEqual(
      answers.map(answer => answer.status),
      answers.map((_, i) => (i === won ? 200 : refused)),
    )
    assert.equal((await get(client, bucket, '/k')).body.toString(), `from ${won}`)
    // All others are still in progress, and each may replace the version it expects.
    const etag = textAt(answers[won]!.xml(), 'ETag')
    const rest = uploads.filter((_, i) => i !== won)
    const second = await Promise.all(
      rest.map(({ place, listed }) => finish(client, place, listed, [['If-Match', etag]])),
    )
    assert.equal(second.filter(answer => answer.status === 200).length, 1)
    for (const answer of second) if (answer.status !== 200) expectFault(answer, 412, 'PreconditionFailed')
    const versions = await get(client, bucket, '/?versions')
    assert.equal(childrenAt(versions.xml(), 'Version').length, 2)
    for (const { place } of rest.slice(0, 7)) {
      const aborted = await abort(client, place)
      assert(aborted.status === 204 || aborted.status === 404)
    }
    assert.equal((await stored(parts)).blobs, 2)
  },
)

inBoth('R92 R94 D2 D3 CompleteMultipartUpload: If-Match first, then If-None-Match', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'old')
  const tag = (await client.send({ method: 'HEAD', bucket, path: '/k' })).headers.get('etag') ?? ''
  const place = await begin(client, bucket)
  const listed = [await part(client, place, 1, 'new')]
  const hit = client.dialect === 'svc' ? 304 : 412
  for (const [status, match, none] of [
    [412, '"no"', tag],
    [412, '"no"', '"no"'],
    [hit, tag, tag],
    [hit, '*', '*'],
    [hit, tag, '*'],
    [hit, `"no", ${tag}`, `"x", ${tag}`],
    [200, tag, '"no"'],
  ] as const) {
    const answer = await finish(client, place, listed, [
      ['If-Match', match],
      ['If-None-Match', none],
    ])
    assert.equal(answer.status, status, `${match} ${none}: ${answer.body}`)
    if (status === 412 && hit === 304) assert.equal(textAt(answer.xml(), 'Condition'), 'If-Match')
  }
})

inBoth('R93 CompleteMultipartUpload: a delete marker does not count as an object', async (client, { parts }) => {
  const bucket = await versionedBucket(client, parts)
  await put(client, bucket, '/k', 'old')
  await client.send({ method: 'DELETE', bucket, path: '/k' })
  const place = await begin(client, bucket)
  const listed = [await part(client, place, 1, 'new')]
  const matched = await finish(client, place, listed, [['If-Match', '*']])
  expectFault(
    matched,
    client.dialect === 'svc' ? 412 : 404,
    client.dialect === 'svc' ? 'PreconditionFailed' : 'NoSuchKey',
  )
  assert.equal((await finish(client, place, listed, [['If-None-Match', '*']])).status, 200)
})

inBoth('R35 R97 CompleteMultipartUpload: concurrent completions create one version', async (client, { parts }) => {
  const bucket = await versionedBucket(client, parts)
  const place = await begin(client, bucket)
  const listed = [await part(client, place, 1, Buffer.alloc(MIB5, 'a')), await part(client, place, 2, 'b')]
  const answers = await Promise.all([...Array(6)].map(() => finish(client, place, listed)))
  const done = answers.filter(answer => answer.status === 200)
  assert.equal(done.length, client.dialect === 'svc' ? 1 : 6)
  const versions = new Set(done.map(answer => answer.own('version-id')))
  assert.equal(versions.size, 1)
  for (const answer of answers) if (answer.status !== 200) expectFault(answer, 404, 'NoSuchUpload')
  assert.equal(childrenAt((await get(client, bucket, '/?versions')).xml(), 'Version').length, 1)
  assert.equal((await stored(parts)).blobs, 2)
})

for (const dialect of ['svc', 's3'] as const) {
  const title = 'R96 R97 CompleteMultipartUpload: the object of a concurrent completion does not fail If-None-Match'
  test(`${dialect}: ${title}`, localOnly, () =>
    withServer(async served => {
      const { [dialect]: client, parts } = served
      const bucket = await makeBucket(client)
      const place = await begin(client, bucket)
      const listed = await part(client, place, 1, 'bytes')
      const { completion, context } = parts.store
      const meta = context.meta as { get: Meta['get'] }
      const look = meta.get.bind(meta)
      let overtaken = false
      // Runs between the read of the upload and the check of the precondition.
      meta.get = async (key, known) => {
        if (!overtaken && key.equals(recordKey.current(bucket, 'k'))) {
          overtaken = true
          const name = { bucket, key: 'k', uploadId: place.id }
          await completion.complete({ ...name, parts: [{ number: 1, etag: listed.etag.slice(1, -1) }] })
        }
        return look(key, known)
      }
      const answer = await finish(client, place, [listed], [['If-None-Match', '*']])
      assert.equal(overtaken, true)
      assert.equal(outcome(answer), dialect === 'svc' ? '404 NoSuchUpload' : '200')
    }),
  )
}

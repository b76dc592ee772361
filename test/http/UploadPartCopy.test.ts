import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { begin, customerKey, expectFault, finish, KEY, MIB5, type Place, textAt } from './parts.ts'
import { type Client, inBoth, makeBucket, OTHER, type Sending } from './server.ts'

type Headers = NonNullable<Sending['headers']>

const copyPart = (client: Client, place: Place, number: number | string, source: string, headers: Headers = []) =>
  client.send({
    method: 'PUT',
    bucket: place.bucket,
    path: `${place.path}?partNumber=${number}&uploadId=${place.id}`,
    headers: [[':copy-source', source], ...headers],
  })

inBoth('R73 UploadPartCopy: ranges of objects become parts', async client => {
  const bucket = await makeBucket(client)
  const body = Buffer.concat([Buffer.alloc(MIB5, 'A'), Buffer.from('0123456789')])
  await client.send({ method: 'PUT', bucket, path: '/from', body })
  for (const headers of [[], [[':checksum-algorithm', 'CRC32']]] as Headers[]) {
    const place = await begin(client, bucket, '/to', headers)
    const parts = []
    for (const [number, range] of [
      [1, `bytes=0-${MIB5 - 1}`],
      [2, `bytes=${MIB5 + 2}-${MIB5 + 4}`],
    ] as const) {
      const answer = await copyPart(client, place, number, `${bucket}/from`, [[':copy-source-range', range]])
      assert.equal(answer.status, 200, answer.body.toString())
      assert.equal(answer.xml().name, 'CopyPartResult')
      const sum = textAt(answer.xml(), 'ChecksumCRC32')
      assert.equal(sum !== '', headers.length > 0)
      if (number === 1 && headers.length > 0) assert.equal(sum, 'JRTCyQ==')
      const more = sum === '' ? '' : `<ChecksumCRC32>${sum}</ChecksumCRC32>`
      parts.push({ number, etag: textAt(answer.xml(), 'ETag'), more })
    }
    const done = await finish(client, place, parts)
    assert.equal(done.status, 200, done.body.toString())
    const got = await client.send({ method: 'GET', bucket, path: '/to' })
    assert(got.body.equals(Buffer.concat([body.subarray(0, MIB5), Buffer.from('234')])))
  }
})

inBoth('D30 UploadPartCopy: the ETag of a range depends only on source and range', async client => {
  const bucket = await makeBucket(client)
  // One is long enough to be shared; the other is inline, and its bytes are copied.
  for (const body of [Buffer.alloc(2 ** 21, 'a'), Buffer.from('0123456789')]) {
    await client.send({ method: 'PUT', bucket, path: '/from', body })
    const tags: string[] = []
    for (const header of [
      undefined,
      [':checksum-algorithm', 'CRC32'],
      [':server-side-encryption', 'AES256'],
    ] as const) {
      const place = await begin(client, bucket, '/to', header === undefined ? [] : [header])
      for (const number of [1, 2]) {
        const copied = await copyPart(client, place, number, `${bucket}/from`, [[':copy-source-range', 'bytes=2-4']])
        tags.push(textAt(copied.xml(), 'ETag'))
      }
      const other = await copyPart(client, place, 3, `${bucket}/from`, [[':copy-source-range', 'bytes=3-5']])
      assert.notEqual(textAt(other.xml(), 'ETag'), tags[0])
      if (header?.[1] === 'CRC32') continue
      assert.equal((await finish(client, place, [{ number: 1, etag: tags[0]! }])).status, 200)
    }
    assert.match(tags[0]!, /^"[0-9a-f]{32}"$/)
    assert.deepEqual(new Set(tags), new Set([tags[0]]))
  }
})

inBoth(
  'R16 UploadPartCopy: a part copied from a whole object has the MD5 of its bytes, encrypted or not',
  async client => {
    const bucket = await makeBucket(client)
    const sealed: Headers = [[':server-side-encryption', 'AES256']]
    // Long enough to be shared instead of copied.
    const body = Buffer.alloc(2 ** 21, 'a')
    const tag = `"${createHash('md5').update(body).digest('hex')}"`
    for (const from of [[], sealed]) {
      await client.send({ method: 'PUT', bucket, path: '/from', body, headers: from })
      for (const to of [[], sealed]) {
        const place = await begin(client, bucket, '/to', to)
        const copied = await copyPart(client, place, 1, `${bucket}/from`)
        assert.equal(textAt(copied.xml(), 'ETag'), tag)
      }
    }
  },
)

inBoth('R43 R44 R49 UploadPartCopy: invalid ranges, sources and preconditions are refused', async client => {
  const bucket = await makeBucket(client)
  const put = await client.send({ method: 'PUT', bucket, path: '/from', body: '0123456789' })
  const place = await begin(client, bucket, '/to')
  const from = (...headers: [string, string][]) => copyPart(client, place, 1, `${bucket}/from`, headers)
  for (const range of ['bytes=0-10', 'bytes=1-', 'bytes=-3', '0-3', 'bytes=4-2', 'bytes=0-1,3-4', '']) {
    expectFault(await from([':copy-source-range', range]), 400, 'InvalidArgument')
  }
  expectFault(await from([':copy-source-range', 'bytes=10-12']), 400, 'InvalidRequest')
  const tag = put.headers.get('etag') ?? ''
  expectFault(await from([':copy-source-if-none-match', tag]), 412, 'PreconditionFailed')
  expectFault(await copyPart(client, place, 1, 'x'), 400, 'InvalidArgument')
  expectFault(await copyPart(client, place, 0, `${bucket}/from`), 400, 'InvalidArgument')
  expectFault(await copyPart(client, place, 1, `${bucket}/none`), 404, 'NoSuchKey')
  expectFault(await copyPart(client, { ...place, id: 'none' }, 1, `${bucket}/from`), 404, 'NoSuchUpload')
  const whole = await copyPart(client, place, 1, `${bucket}/from`)
  assert.equal(textAt(whole.xml(), 'ETag'), tag)
})

inBoth('R25 R60 A28 UploadPartCopy: customer keys and permissions', async client => {
  const bucket = await makeBucket(client)
  const sealed = await client.send({ method: 'PUT', bucket, path: '/from', body: 'secret', headers: customerKey(KEY) })
  assert.equal(sealed.status, 200)
  const place = await begin(client, bucket, '/to', customerKey(KEY))
  const source = customerKey(KEY, ':copy-source-')
  expectFault(await copyPart(client, place, 1, `${bucket}/from`, customerKey(KEY)), 400, 'InvalidRequest')
  expectFault(await copyPart(client, place, 1, `${bucket}/from`, source), 400, 'InvalidRequest')
  const copied = await copyPart(client, place, 1, `${bucket}/from`, [...source, ...customerKey(KEY)])
  assert.equal(copied.status, 200, copied.body.toString())
  const parts = [{ number: 1, etag: textAt(copied.xml(), 'ETag') }]
  assert.equal((await finish(client, place, parts, customerKey(KEY))).status, 200)
  const got = await client.send({ method: 'GET', bucket, path: '/to', headers: customerKey(KEY) })
  assert.equal(got.body.toString(), 'secret')
  const open = await makeBucket(client, 'open-bucket', [[':acl', 'public-read-write']])
  const begun = await client.send({ method: 'POST', bucket: open, path: '/k?uploads', as: OTHER })
  const id = textAt(begun.xml(), 'UploadId')
  const stolen = await client.send({
    method: 'PUT',
    bucket: open,
    path: `/k?partNumber=1&uploadId=${id}`,
    headers: [[':copy-source', `${bucket}/from`], ...source],
    as: OTHER,
  })
  expectFault(stolen, 403, 'AccessDenied')
})

/** Copies between all kinds of encryption, over HTTP: headers, stored attributes and bytes. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { elements, text, texts } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import { inEither } from './long.ts'
import { begin, customerKey, finish, KEY, keyNameHeader, MIB5, namedKeys, OTHER_KEY, part, textAt } from './parts.ts'
import { type Client, makeBucket, OTHER, type Received, type Sending } from './server.ts'

type Headers = NonNullable<Sending['headers']>

interface Kind {
  readonly name: string
  /** Headers at creation, and those returned later. */
  readonly headers: Headers
  readonly echoed: Headers
  readonly key?: Buffer
  /** Its ETag is a digest of the content alone. */
  readonly isOpen: boolean
}

const CONTEXT = Buffer.from('{"a":"b"}').toString('base64')

function kindsOf(client: Client): readonly Kind[] {
  const named: Headers = [
    [':server-side-encryption', namedKeys(client)],
    [keyNameHeader(client), 'tenant-7'],
    [':server-side-encryption-context', CONTEXT],
    [':server-side-encryption-bucket-key-enabled', 'true'],
  ]
  const service: Headers = [[':server-side-encryption', 'AES256']]
  const own = (key: Buffer): Kind => ({
    name: `customer ${key[0]}`,
    headers: customerKey(key),
    echoed: customerKey(key).filter(([name]) => !name.endsWith('-key')),
    key,
    isOpen: false,
  })
  return [
    { name: 'plain', headers: [], echoed: [], isOpen: true },
    { name: 'service', headers: service, echoed: service, isOpen: true },
    { name: 'named', headers: named, echoed: named, isOpen: false },
    own(KEY),
    own(OTHER_KEY),
  ]
}

const NAMES = [
  'server-side-encryption',
  'server-side-encryption-context',
  'server-side-encryption-bucket-key-enabled',
  'server-side-encryption-customer-algorithm',
  'server-side-encryption-customer-key-md5',
]

function assertSaid(client: Client, answer: Received, expected: Headers, where: string): void {
  const want = new Map(expected.map(([name, value]) => [name.slice(1).toLowerCase(), value]))
  for (const name of [...NAMES, keyNameHeader(client).slice(1)]) {
    assert.equal(answer.own(name), want.get(name), `${where}: ${name}`)
  }
}

const reading = ({ key }: Kind): Headers => (key === undefined ? [] : customerKey(key))

inEither('R53 R54 R55 D17 CopyObject: between every two kinds of encryption, across buckets', async client => {
  const bucket = await makeBucket(client)
  const target = await makeBucket(client, 'target-bucket')
  const body = Buffer.alloc(70_000, 'secret ')
  for (const before of kindsOf(client)) {
    const put = await client.send({ method: 'PUT', bucket, path: '/from', body, headers: before.headers })
    assert.equal(put.status, 200, put.body.toString())
    for (const after of kindsOf(client)) {
      const where = `${before.name} to ${after.name}`
      const source = before.key === undefined ? [] : customerKey(before.key, ':copy-source-')
      const headers: Headers = [[':copy-source', `${bucket}/from`], ...source, ...after.headers]
      const copied = await client.send({ method: 'PUT', bucket: target, path: '/to', headers })
      assert.equal(copied.status, 200, `${where}: ${copied.body}`)
      assertSaid(client, copied, after.echoed, where)
      assert.equal(copied.headers.get('etag'), textAt(copied.xml(), 'ETag'), where)
      if (before.isOpen && after.isOpen) assert.equal(copied.headers.get('etag'), put.headers.get('etag'), where)
      if (!after.isOpen && before !== after && before.name !== after.name) {
        assert.notEqual(copied.headers.get('etag'), put.headers.get('etag'), where)
      }
      const got = await client.send({ method: 'GET', bucket: target, path: '/to', headers: reading(after) })
      assert(got.body.equals(body), where)
      // Reads do not return the context.
      const shown = after.echoed.filter(([name]) => name !== ':server-side-encryption-context')
      assertSaid(client, got, shown, where)
      assert.equal(got.headers.get('etag'), copied.headers.get('etag'), where)
    }
  }
})

inEither('R16 R53 CopyObject: an ETag of 32 digits is the MD5, also after a named key', async client => {
  const bucket = await makeBucket(client)
  const body = Buffer.from('hello')
  const md5 = createHash('md5').update(body).digest('hex')
  const named: Headers = [[':server-side-encryption', namedKeys(client)]]
  const service: Headers = [[':server-side-encryption', 'AES256']]
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/named', body, headers: named })).status, 200)
  const copy = async (from: string, path: string, headers: Headers) => {
    const all = [[':copy-source', `${bucket}${from}`] as const, ...headers]
    const copied = await client.send({ method: 'PUT', bucket, path, headers: all })
    assert.equal(copied.status, 200, copied.body.toString())
    return copied.headers.get('etag') ?? ''
  }
  const under = await copy('/named', '/service', service)
  assert.match(under, /^"[0-9a-f]{32}-1"$/)
  assert.equal(await copy('/service', '/again', service), under)
  assert.equal(await copy('/service', '/plain', []), `"${md5}"`)
  assert.match(await copy('/service', '/back', named), /^"[0-9a-f]{32}"$/)
  const place = await begin(client, bucket, '/parts', service)
  const path = `/parts?partNumber=1&uploadId=${place.id}`
  const headers: Headers = [[':copy-source', `${bucket}/service`]]
  const etag = textAt((await client.send({ method: 'PUT', bucket, path, headers })).xml(), 'ETag')
  assert.match(etag, /^"[0-9a-f]{32}"$/)
  assert.equal((await finish(client, place, [{ number: 1, etag }])).status, 200)
  const first = await client.send({ method: 'GET', bucket, path: '/service?partNumber=1' })
  assert.equal(first.body.toString(), 'hello')
})

inEither(
  'R53 GetObject GetObjectAttributes: a copied multipart object keeps its parts, however encrypted',
  async client => {
    const bucket = await makeBucket(client)
    const sums = ['JRTCyQ==', 'QoZTGg==']
    const place = await begin(client, bucket, '/from', [[':checksum-algorithm', 'CRC32']])
    const listed = []
    for (const [index, letter] of ['A', 'B'].entries()) {
      const one = await part(client, place, 3 * index + 1, Buffer.alloc(MIB5, letter))
      listed.push({ ...one, more: `<ChecksumCRC32>${sums[index]}</ChecksumCRC32>` })
    }
    const done = await finish(client, place, listed)
    assert.equal(done.status, 200, done.body.toString())
    for (const kind of kindsOf(client)) {
      const headers: Headers = [[':copy-source', `${bucket}/from`], ...kind.headers]
      const copied = await client.send({ method: 'PUT', bucket, path: '/to', headers })
      assert.equal(copied.status, 200, copied.body.toString())
      assert.equal(textAt(copied.xml(), 'ChecksumCRC32'), textAt(done.xml(), 'ChecksumCRC32'), kind.name)
      assert.equal(textAt(copied.xml(), 'ChecksumType'), 'COMPOSITE')
      if (kind.isOpen) assert.equal(textAt(copied.xml(), 'ETag'), textAt(done.xml(), 'ETag'), kind.name)
      else assert.match(textAt(copied.xml(), 'ETag'), /^"[0-9a-f]{32}-2"$/)
      const mode: Headers = [[':checksum-mode', 'ENABLED'], ...reading(kind)]
      const second = await client.send({ method: 'GET', bucket, path: '/to?partNumber=4', headers: mode })
      assert.equal(second.status, 206, second.body.toString().slice(0, 500))
      assert(second.body.equals(Buffer.alloc(MIB5, 'B')), kind.name)
      assert.equal(second.own('checksum-crc32'), sums[1])
      assert.equal(second.own('mp-parts-count'), '2')
      const asked: Headers = [[':object-attributes', 'ETag,Checksum,ObjectParts,ObjectSize'], ...reading(kind)]
      const shown = (await client.send({ method: 'GET', bucket, path: '/to?attributes', headers: asked })).xml()
      const [parts] = elements(shown, 'ObjectParts')
      assert.equal(text(parts!, 'PartsCount'), '2', kind.name)
      assert.deepEqual(texts(parts!, 'PartNumber'), ['1', '4'])
      assert.deepEqual(texts(parts!, 'ChecksumCRC32'), sums)
      assert.equal(text(shown, 'ObjectSize'), String(2 * MIB5))
    }
  },
)

inEither('R55 R45 CopyObject: the target bucket’s default encryption applies, not the source’s', async client => {
  const bucket = await makeBucket(client)
  const target = await makeBucket(client, 'target-bucket')
  const rule =
    `<ApplyServerSideEncryptionByDefault><SSEAlgorithm>${namedKeys(client)}</SSEAlgorithm>` +
    '<KMSMasterKeyID>house-key</KMSMasterKeyID></ApplyServerSideEncryptionByDefault>' +
    '<BucketKeyEnabled>true</BucketKeyEnabled>'
  const document = `<ServerSideEncryptionConfiguration><Rule>${rule}</Rule></ServerSideEncryptionConfiguration>`
  const set = await documentsOf(client, target, 'encryption').put(document)
  assert.equal(set.status, 200, set.body.toString())
  const sealed: Headers = [[':server-side-encryption', 'AES256']]
  await client.send({ method: 'PUT', bucket, path: '/from', body: 'secret', headers: sealed })
  const source: [string, string] = [':copy-source', `${bucket}/from`]
  const byDefault = await client.send({ method: 'PUT', bucket: target, path: '/to', headers: [source] })
  assertSaid(
    client,
    byDefault,
    [
      [':server-side-encryption', namedKeys(client)],
      [keyNameHeader(client), 'house-key'],
      [':server-side-encryption-bucket-key-enabled', 'true'],
    ],
    'default',
  )
  const asked = await client.send({ method: 'PUT', bucket: target, path: '/to', headers: [source, ...sealed] })
  assertSaid(client, asked, sealed, 'asked')
  const back = await client.send({
    method: 'PUT',
    bucket,
    path: '/back',
    headers: [[':copy-source', `${target}/to`]],
  })
  assertSaid(client, back, [], 'no default')
  assert.equal((await client.send({ method: 'GET', bucket, path: '/back' })).body.toString(), 'secret')
})

inEither(
  'R13 R18 R45 CopyObject: a version of another account’s object becomes the copier’s own',
  async (client, { parts }) => {
    const bucket = await makeBucket(client)
    await parts.store.buckets.setVersioning(bucket, 'on')
    const grant: Headers = [[':grant-read', `id="${OTHER.canonicalId}"`]]
    const first = await client.send({ method: 'PUT', bucket, path: '/from', body: 'one', headers: grant })
    await client.send({ method: 'PUT', bucket, path: '/from', body: 'two' })
    const made = await client.send({ method: 'PUT', bucket: 'their-bucket', path: '/', as: OTHER })
    assert.equal(made.status, 200)
    const version = first.own('version-id')
    const source: [string, string] = [':copy-source', `${bucket}/from?versionId=${version}`]
    const copied = await client.send({
      method: 'PUT',
      bucket: 'their-bucket',
      path: '/to',
      headers: [source],
      as: OTHER,
    })
    assert.equal(copied.status, 200, copied.body.toString())
    assert.equal(copied.own('copy-source-version-id'), version)
    assert.equal(copied.own('version-id'), undefined, 'the destination has no versions')
    const acl = await client.send({ method: 'GET', bucket: 'their-bucket', path: '/to?acl', as: OTHER })
    assert.equal(textAt(acl.xml(), 'Owner', 'ID'), OTHER.canonicalId)
    const got = await client.send({ method: 'GET', bucket: 'their-bucket', path: '/to', as: OTHER })
    assert.equal(got.body.toString(), 'one')
    // The current version was not shared with them.
    const current: [string, string] = [':copy-source', `${bucket}/from`]
    const refused = await client.send({
      method: 'PUT',
      bucket: 'their-bucket',
      path: '/x',
      headers: [current],
      as: OTHER,
    })
    assert.equal(refused.status, 403)
  },
)

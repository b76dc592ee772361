/** Encryption across operations: R22–R26, R54–R55, R66, R68, R86–R87 and attacks on it. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { get, type Headers, outcome, text } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import {
  begin,
  beginning,
  customerKey,
  expectFault,
  expectFolded,
  finish,
  KEY,
  keyNameHeader,
  MIB5,
  namedKeys,
  OTHER_KEY,
  part,
  putPart,
} from './parts.ts'
import { type Client, inBoth, MAIN, makeBucket, type Received, withFolderServer, withServer } from './server.ts'

const ALGORITHM = ':server-side-encryption'
const AES: Headers = [[ALGORITHM, 'AES256']]
const named = (client: Client, name?: string, more: Headers = []): Headers => [
  [ALGORITHM, namedKeys(client)],
  ...(name === undefined ? [] : [[keyNameHeader(client), name] as const]),
  ...more,
]

const put = (client: Client, bucket: string, path: string, body: Buffer | string, headers: Headers = []) =>
  client.send({ method: 'PUT', bucket, path, body, headers })

const copy = (client: Client, bucket: string, path: string, source: string, headers: Headers = []) =>
  client.send({ method: 'PUT', bucket, path, headers: [[':copy-source', source], ...headers] })

const form = (client: Client, bucket: string, fields: readonly (readonly [string, string])[]): Promise<Received> => {
  const pieces = [['key', 'posted'], ...fields].map(
    ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${client.name(name!)}"\r\n\r\n${value}\r\n`,
  )
  const file = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nposted\r\n--b--\r\n'
  const headers: Headers = [['Content-Type', 'multipart/form-data; boundary=b']]
  return client.send({ method: 'POST', bucket, path: '/', body: pieces.join('') + file, headers, as: null })
}

async function encryptBucket(client: Client, bucket: string, rule: string): Promise<void> {
  const document = `<ServerSideEncryptionConfiguration><Rule>${rule}</Rule></ServerSideEncryptionConfiguration>`
  const set = await documentsOf(client, bucket, 'encryption').put(document)
  assert.equal(set.status, 200, set.body.toString())
}

const byDefault = (client: Client, name: string): string =>
  `<ApplyServerSideEncryptionByDefault><SSEAlgorithm>${namedKeys(client)}</SSEAlgorithm>` +
  `<KMSMasterKeyID>${name}</KMSMasterKeyID></ApplyServerSideEncryptionByDefault>`

const BLOCKED = '<BlockedEncryptionTypes><EncryptionType>SSE-C</EncryptionType></BlockedEncryptionTypes>'

/** Bytes in which every range is unique. */
function numbered(size: number): Buffer {
  const out = Buffer.alloc(size)
  for (let at = 0; at + 4 <= size; at += 4) out.writeUInt32BE(at, at)
  return out
}

const kinds = (client: Client): readonly (readonly [string, Headers, Headers])[] => {
  const context = Buffer.from('{"a": "b"}').toString('base64')
  const keyed = named(client, 'my key', [[`${ALGORITHM}-context`, context]])
  return [
    ['AES256', AES, []],
    ['named', keyed, []],
    ['customer', customerKey(KEY), customerKey(KEY)],
  ]
}

inBoth('R22 R25 R26 GetObject: encrypted objects of every size are read, whole and in ranges', async client => {
  const bucket = await makeBucket(client)
  for (const [kind, write, read] of kinds(client)) {
    // Inline, in a volume, and in a file of its own; ranges cross the boundaries of sealed frames.
    for (const size of [0, 100, 70_000, 1_200_000]) {
      const bytes = numbered(size)
      const path = `/${kind}-${size}`
      assert.equal((await put(client, bucket, path, bytes, write)).status, 200, path)
      assert((await get(client, bucket, path, read)).body.equals(bytes), path)
      for (const [start, end] of [
        [0, 0],
        [65_535, 65_536],
        [size - 3, size - 1],
      ] as const) {
        if (start < 0 || end >= size) continue
        const range = await get(client, bucket, path, [['Range', `bytes=${start}-${end}`], ...read])
        assert.equal(range.status, 206)
        assert(range.body.equals(bytes.subarray(start, end + 1)), `${path} ${start}-${end}`)
      }
    }
  }
})

inBoth('R25 R26 R66 R90 CompleteMultipartUpload: parts are encrypted as the upload was created', async client => {
  const bucket = await makeBucket(client)
  const whole = numbered(MIB5 + 1000)
  for (const [kind, write, read] of kinds(client)) {
    const place = await begin(client, bucket, `/${kind}`, write)
    const first = await part(client, place, 1, whole.subarray(0, MIB5), read)
    const done = await finish(client, place, [first, await part(client, place, 2, whole.subarray(MIB5), read)], read)
    assert.equal(done.status, 200, done.body.toString())
    const range: Headers = [['Range', `bytes=${MIB5 - 10}-${MIB5 + 9}`]]
    const across = await get(client, bucket, `/${kind}`, [...range, ...read])
    assert(across.body.equals(whole.subarray(MIB5 - 10, MIB5 + 10)), kind)
    const second = await get(client, bucket, `/${kind}?partNumber=2`, read)
    assert(second.body.equals(whole.subarray(MIB5)), kind)
    const plainTag = createHash('md5').update(whole.subarray(0, MIB5)).digest('hex')
    assert.equal(first.etag === `"${plainTag}"`, kind === 'AES256', 'R16: only the service’s key keeps the MD5')
  }
})

inBoth('R22 PutObject: a key id without an algorithm is refused by its header name in the dialect', async client => {
  const bucket = await makeBucket(client)
  const header = keyNameHeader(client)
  const refused = await client.send({ method: 'PUT', bucket, path: '/k', body: 'x', headers: [[header, 'k1']] })
  assert.equal(outcome(refused), '400 InvalidArgument')
  assert.equal(text(refused.xml(), 'ArgumentName'), client.name(header))
})

inBoth('R23 R24 PutObject: context and bucket key are echoed as sent', async client => {
  const bucket = await makeBucket(client)
  // Spaces, an escape and a different order than a JSON serializer would produce.
  const context = Buffer.from('{ "z": "\\u00fc", "a":"ü" }').toString('base64')
  const flag = (value: string): Headers => [[`${ALGORITHM}-bucket-key-enabled`, value]]
  const headers = named(client, 'k', [[`${ALGORITHM}-context`, context], ...flag('true')])
  const stored = await put(client, bucket, '/k', 'x', headers)
  assert.equal(stored.own('server-side-encryption-context'), context)
  assert.equal(stored.own('server-side-encryption-bucket-key-enabled'), 'true')
  const read = await get(client, bucket, '/k')
  assert.equal(read.own('server-side-encryption-bucket-key-enabled'), 'true')
  assert.equal(read.own('server-side-encryption'), namedKeys(client))
  const without = await put(client, bucket, '/k', 'x', named(client, 'k', flag('false')))
  assert.equal(without.own('server-side-encryption-bucket-key-enabled'), undefined)
  for (const bad of ['', 'yes', '1', 'True']) {
    expectFault(await put(client, bucket, '/k', 'x', named(client, 'k', flag(bad))), 400, 'InvalidArgument')
  }
})

inBoth('R24 R55: the bucket-key flag of a request overrides the bucket’s default', async client => {
  const bucket = await makeBucket(client)
  const said = async (value: 'true' | 'false'): Promise<(string | undefined)[]> => {
    const flag: Headers = [[`${ALGORITHM}-bucket-key-enabled`, value]]
    const answers = [
      await put(client, bucket, '/k', 'x', flag),
      await get(client, bucket, '/k'),
      await copy(client, bucket, '/copied', `${bucket}/k`, flag),
      await beginning(client, bucket, '/uploaded', flag),
    ]
    return answers.map(answer => {
      assert.equal(answer.own('server-side-encryption'), namedKeys(client))
      return answer.own('server-side-encryption-bucket-key-enabled')
    })
  }
  await encryptBucket(client, bucket, `${byDefault(client, 'house')}<BucketKeyEnabled>true</BucketKeyEnabled>`)
  assert.deepEqual(await said('false'), [undefined, undefined, undefined, undefined])
  await encryptBucket(client, bucket, byDefault(client, 'house'))
  assert.deepEqual(await said('true'), ['true', 'true', 'true', 'true'])
})

inBoth(
  'R22 R55 R68 A76: default encryption and blocked keys of a bucket apply to every kind of write',
  async (client, { parts }) => {
    const bucket = await makeBucket(client, 'test-bucket', [[':acl', 'public-read-write']])
    await put(client, bucket, '/plain', 'plain')
    const flag = '<BucketKeyEnabled>true</BucketKeyEnabled>'
    await encryptBucket(client, bucket, byDefault(client, 'house') + flag + BLOCKED)
    const begun = await beginning(client, bucket, '/uploaded')
    const place = { bucket, path: '/uploaded', id: text(begun.xml(), 'UploadId')! }
    const answers = [
      await put(client, bucket, '/stored', 'stored'),
      await copy(client, bucket, '/copied', `${bucket}/plain`),
      begun,
      await finish(client, place, [await part(client, place, 1, 'uploaded')]),
    ]
    for (const answer of answers) {
      assert.equal(answer.own('server-side-encryption'), namedKeys(client))
      assert.equal(answer.own(keyNameHeader(client).slice(1)), 'house')
      assert.equal(answer.own('server-side-encryption-bucket-key-enabled'), 'true')
    }
    assert.equal(outcome(await form(client, bucket, [])), '204')
    for (const key of ['stored', 'copied', 'uploaded', 'posted']) {
      const { encryption } = await parts.store.objects.head({ bucket, key })
      assert.deepEqual([encryption?.by, encryption?.keyName, encryption?.bucketKey], ['named', 'house', true], key)
    }
    expectFault(await put(client, bucket, '/own', 'x', customerKey(KEY)), 403, 'AccessDenied')
    expectFault(await copy(client, bucket, '/own', `${bucket}/plain`, customerKey(KEY)), 403, 'AccessDenied')
    // R68. For creation of an upload the specification makes it a bad request.
    expectFault(await beginning(client, bucket, '/own', customerKey(KEY)), 400, 'InvalidRequest')
    expectFault(await form(client, bucket, customerKey(KEY)), 403, 'AccessDenied')
    assert.equal((await get(client, bucket, '/own')).status, 404)
    // The request takes precedence over the default.
    assert.equal((await put(client, bucket, '/asked', 'x', AES)).own('server-side-encryption'), 'AES256')
  },
)

inBoth('R87 CompleteMultipartUpload: a key or context that differs from creation is refused', async client => {
  const bucket = await makeBucket(client)
  const context = (value: string): Headers => [[`${ALGORITHM}-context`, Buffer.from(value).toString('base64')]]
  const place = await begin(client, bucket, '/k', named(client, 'mine', context('{"a":"b"}')))
  const listed = [await part(client, place, 1, 'x')]
  for (const headers of [
    AES,
    named(client, 'another'),
    named(client, 'mine', context('{"a":"c"}')),
    [[keyNameHeader(client), 'another']] as Headers,
    context('{}'),
  ]) {
    expectFault(await finish(client, place, listed, headers), 400, 'InvalidRequest')
  }
  const done = await finish(client, place, listed, named(client, 'mine', context('{"a":"b"}')))
  assert.equal(done.status, 200, done.body.toString())
})

for (const dialect of ['svc', 's3'] as const) {
  test(`${dialect}: R22: with strict keys a key must exist, and is then accepted by every kind of write`, () =>
    withServer(
      async served => {
        const client = served[dialect]
        const { keyring } = served.parts.store.context
        const bucket = await makeBucket(client, 'test-bucket', [[':acl', 'public-read-write']])
        await put(client, bucket, '/plain', 'plain')
        const asked = named(client, 'mine')
        expectFault(await put(client, bucket, '/k', 'x', asked), 400, 'KMS.NotFoundException')
        expectFolded(client, await copy(client, bucket, '/k', `${bucket}/plain`, asked), 'KMS.NotFoundException')
        expectFolded(client, await beginning(client, bucket, '/k', asked), 'KMS.NotFoundException')
        expectFault(await form(client, bucket, asked), 400, 'KMS.NotFoundException')
        await encryptBucket(client, bucket, byDefault(client, 'mine'))
        expectFault(await put(client, bucket, '/k', 'x'), 400, 'KMS.NotFoundException')
        assert.equal((await get(client, bucket, '/k')).status, 404)
        await keyring.have(['mine'])
        assert.equal((await put(client, bucket, '/k', 'x')).status, 200)
        assert.equal((await copy(client, bucket, '/k', `${bucket}/plain`, asked)).status, 200)
        assert.equal((await beginning(client, bucket, '/k', asked)).status, 200)
        assert.equal(outcome(await form(client, bucket, asked)), '204')
        assert.equal((await get(client, bucket, '/k')).body.toString(), 'plain')
      },
      { strictKeys: true },
    ))
}

inBoth(
  'R26 A75: a disabled key neither decrypts nor encrypts, and nothing is stored in plaintext',
  async (client, { parts }) => {
    const bucket = await makeBucket(client)
    const { keyring } = parts.store.context
    await put(client, bucket, '/k', 'secret', named(client, 'mine'))
    await put(client, bucket, '/other', 'open', named(client, 'another'))
    const place = await begin(client, bucket, '/u', named(client, 'mine'))
    await keyring.disable('mine')
    expectFault(await get(client, bucket, '/k'), 400, 'KMS.DisabledException')
    assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k' })).status, 400)
    expectFault(await put(client, bucket, '/new', 'x', named(client, 'mine')), 400, 'KMS.DisabledException')
    expectFault(await putPart(client, place, 1, 'x'), 400, 'KMS.DisabledException')
    expectFolded(client, await copy(client, bucket, '/new', `${bucket}/k`), 'KMS.DisabledException')
    expectFolded(
      client,
      await copy(client, bucket, '/new', `${bucket}/other`, named(client, 'mine')),
      'KMS.DisabledException',
    )
    assert.equal((await get(client, bucket, '/new')).status, 404)
    assert.equal((await get(client, bucket, '/other')).body.toString(), 'open')
    await keyring.enable('mine')
    assert.equal((await get(client, bucket, '/k')).body.toString(), 'secret')
  },
)

async function everyFile(folder: string): Promise<[string, Buffer][]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return Promise.all(paths.map(async (path): Promise<[string, Buffer]> => [path, await readFile(path)]))
}

/** Every use of customer keys, valid and invalid; returns all responses. */
async function useKeys(client: Client, bucket: string, keys: readonly [Buffer, Buffer]): Promise<Received[]> {
  const [mine, other] = keys.map(key => customerKey(key)) as [Headers, Headers]
  const source = customerKey(keys[0], ':copy-source-')
  const answers: Received[] = []
  const seen = async (answer: Promise<Received>): Promise<Received> => {
    answers.push(await answer)
    return answers.at(-1)!
  }
  for (const size of [100, 70_000, 1_200_000]) {
    const path = `/own-${size}`
    assert.equal((await seen(put(client, bucket, path, numbered(size), mine))).status, 200)
    assert.equal((await seen(get(client, bucket, path, mine))).status, 200)
    assert.equal((await seen(get(client, bucket, path, [['Range', 'bytes=5-9'], ...mine]))).status, 206)
    assert.equal((await seen(copy(client, bucket, '/copied', `${bucket}${path}`, [...source, ...other]))).status, 200)
    for (const wrong of [other, mine.slice(1), mine.slice(0, 2), []]) await seen(get(client, bucket, path, wrong))
    await seen(get(client, bucket, path, [['Range', `bytes=${size}-`], ...mine]))
    await seen(copy(client, bucket, '/never', `${bucket}${path}`, customerKey(keys[1], ':copy-source-')))
    await seen(client.send({ method: 'GET', bucket, path, headers: mine, as: { ...MAIN, secretKey: 'wrong' } }))
    await seen(client.send({ method: 'GET', bucket, path, headers: mine, as: null }))
  }
  const place = await begin(client, bucket, '/parts', mine)
  const first = await part(client, place, 1, numbered(MIB5), mine)
  await seen(putPart(client, place, 2, 'x', other))
  const second = await part(client, place, 2, 'end', mine)
  await seen(finish(client, place, [first, second], other))
  assert.equal((await seen(finish(client, place, [first, second], mine))).status, 200)
  return answers
}

for (const dialect of ['svc', 's3'] as const) {
  test(`${dialect}: R25 A72: no customer key is in any file, log line or response`, () =>
    withFolderServer(async (served, folder) => {
      const client = served[dialect]
      const bucket = await makeBucket(client)
      const keys = [0, 1].map(i => createHash('sha256').update(`${dialect} key ${i}`).digest()) as [Buffer, Buffer]
      const answers = await useKeys(client, bucket, keys)
      await served.parts.store.context.blobs.closeVolume()
      const control = Buffer.from('plain bytes that must be found in the same way')
      await put(client, bucket, '/plain', control)
      const files = await everyFile(folder)
      assert.ok(
        files.some(([, bytes]) => bytes.includes(control)),
        'the search finds what is there',
      )
      const told: [string, Buffer][] = answers.map(({ body, headers }, i) => [
        `answer ${i}`,
        Buffer.concat([body, Buffer.from(JSON.stringify([...headers]))]),
      ])
      const places: [string, Buffer][] = [...files, ...told, ['log', Buffer.from(JSON.stringify(served.log))]]
      for (const [where, bytes] of places) {
        for (const key of keys) {
          for (const form of [key, key.toString('base64'), key.toString('base64url'), key.toString('hex')]) {
            assert.ok(!bytes.includes(form), `a key is in ${where}`)
          }
        }
        // The unencrypted bytes would contain four consecutive numbers.
        if (!where.startsWith('answer')) assert.ok(!bytes.includes(numbered(64).subarray(16, 32)), `plain in ${where}`)
      }
    }))
}

inBoth('R25 A71: the three customer-key headers are required together, on every operation', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/own', 'x', customerKey(KEY))
  const place = await begin(client, bucket, '/u', customerKey(KEY))
  const [algorithm, key, md5] = customerKey(KEY) as readonly [Headers[0], Headers[0], Headers[0]]
  const short: Headers = customerKey(KEY.subarray(1))
  for (const headers of [
    [algorithm, key],
    [algorithm, md5],
    [key, md5],
    [algorithm],
    [key],
    [md5],
    [[algorithm[0], 'AES128'], key, md5],
    [algorithm, key, [md5[0], 'AAAAAAAAAAAAAAAAAAAAAA==']],
    [algorithm, key, [md5[0], '!']],
    [algorithm, [key[0], `${key[1]}=`], md5],
    short,
  ] as Headers[]) {
    expectFault(await put(client, bucket, '/k', 'x', headers), 400, 'InvalidArgument')
    expectFault(await get(client, bucket, '/own', headers), 400, 'InvalidArgument')
    expectFault(await putPart(client, place, 1, 'x', headers), 400, 'InvalidArgument')
    expectFolded(client, await beginning(client, bucket, '/k', headers), 'InvalidArgument')
    expectFolded(client, await copy(client, bucket, '/k', `${bucket}/own`, headers), 'InvalidArgument')
    expectFolded(client, await finish(client, place, [], headers), 'InvalidArgument')
  }
  // R25. Two kinds of encryption at once.
  expectFault(await put(client, bucket, '/k', 'x', [...AES, ...customerKey(KEY)]), 400, 'InvalidArgument')
  assert.equal((await get(client, bucket, '/k')).status, 404)
})

inBoth('A74: parts under another key, and a completion without a required key, are refused', async client => {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket, '/k', [...customerKey(KEY), [':checksum-algorithm', 'CRC32']])
  const one = await part(client, place, 1, 'x', customerKey(KEY))
  expectFault(await putPart(client, place, 2, 'x', customerKey(OTHER_KEY)), 400, 'InvalidRequest')
  expectFault(await putPart(client, place, 2, 'x'), 400, 'InvalidRequest')
  expectFault(await finish(client, place, [one], customerKey(OTHER_KEY)), 400, 'InvalidRequest')
})

/** Which attributes a copy takes from its source, which permissions it requires, and which copies are refused. */
import assert from 'node:assert/strict'
import type { ServerParts } from '../../src/server/compose.ts'
import { lockBucket, outcome, put } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import { customerKey, detail, expectFault, expectFolded, KEY, namedKeys, textAt } from './parts.ts'
import { type Client, inBoth, MAIN, makeBucket, READER, type Received, type Sending } from './server.ts'

type Headers = NonNullable<Sending['headers']>
const MIB = 2 ** 20
const GIB = 2 ** 30
const DAY_MS = 86_400_000

const copy = (client: Client, bucket: string, path: string, source: string, headers: Headers = [], as = MAIN) =>
  client.send({ method: 'PUT', bucket, path, headers: [[':copy-source', source], ...headers], as })

const head = (client: Client, bucket: string, path: string): Promise<Received> =>
  client.send({ method: 'HEAD', bucket, path })

inBoth('R48 CopyObject: onto itself, every header that may come alone', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'hello world', [[':meta-a', '1']])
  const rows: readonly (readonly [number, ...Headers])[] = [
    [400],
    [400, [':acl', 'public-read']],
    [400, [':grant-read', `id="${MAIN.canonicalId}"`]],
    [400, [':metadata-directive', 'COPY']],
    [400, [':tagging-directive', 'COPY']],
    [400, [':meta-a', '2']],
    [400, [':tagging', 'a=b']],
    [400, ['Content-Type', 'text/plain']],
    [400, [':copy-source-if-match', '*']],
    [200, [':metadata-directive', 'REPLACE']],
    [200, [':tagging-directive', 'REPLACE']],
    [200, [':storage-class', 'STANDARD_IA']],
    [200, [':website-redirect-location', '/x']],
    [200, [':server-side-encryption', 'AES256']],
    [200, [':server-side-encryption', namedKeys(client)]],
    [200, [':checksum-algorithm', 'CRC32C']],
  ]
  for (const [status, ...headers] of rows) {
    const answer = await copy(client, bucket, '/k', `${bucket}/k`, headers)
    assert.equal(answer.status, status, `${headers}: ${answer.body}`)
    if (status === 400) expectFault(answer, 400, 'InvalidRequest')
  }
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'hello world')
  const sealed = await copy(client, bucket, '/k', `${bucket}/k`, customerKey(KEY))
  assert.equal(sealed.status, 200, sealed.body.toString())
  // With a version id it is a copy of something else: this is how an old version is restored.
  await parts.store.buckets.setVersioning(bucket, 'on')
  const old = await put(client, bucket, '/v', 'old')
  await put(client, bucket, '/v', 'new')
  assert.equal((await copy(client, bucket, '/v', `${bucket}/v`)).status, 400)
  assert.equal((await copy(client, bucket, '/v', `${bucket}/v?versionId=${old}`)).status, 200)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/v' })).body.toString(), 'old')
})

inBoth('R49 CopyObject UploadPartCopy: ISO 8601 dates are accepted, and invalid ones refused', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/from', 'x')
  const begun = await client.send({ method: 'POST', bucket, path: '/up?uploads' })
  const upload = `/up?partNumber=1&uploadId=${textAt(begun.xml(), 'UploadId')}`
  const date = (ms: number): string => new Date(client.clock.now() + ms).toISOString()
  for (const path of ['/to', upload]) {
    const folded = client.dialect === 'svc' && path === '/to'
    const wrong = `400 ${folded ? 'InvalidRequest' : 'InvalidArgument'}`
    for (const [name, value, expected] of [
      ['if-unmodified-since', date(-60_000), '412 PreconditionFailed'],
      ['if-modified-since', date(60_000), '412 PreconditionFailed'],
      ['if-unmodified-since', 'yesterday', wrong],
      ['if-modified-since', '', wrong],
      ['if-unmodified-since', date(60_000), '200'],
      ['if-modified-since', date(-60_000), '200'],
    ] as const) {
      const answer = await copy(client, bucket, path, `${bucket}/from`, [[`:copy-source-${name}`, value]])
      assert.equal(outcome(answer), expected, `${path} ${name} ${value}`)
      if (expected !== '200') assert.equal((await head(client, bucket, '/to')).status, path === '/to' ? 404 : 200)
    }
  }
})

inBoth('R42 PutObject UploadPart: a copy without its source header does not overwrite', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'as it was')
  const begun = await client.send({ method: 'POST', bucket, path: '/up?uploads' })
  const upload = `/up?uploadId=${textAt(begun.xml(), 'UploadId')}`
  for (const [name, value] of [
    ['if-match', '"x"'],
    ['if-modified-since', new Date(0).toUTCString()],
    ['range', 'bytes=0-1'],
    ['server-side-encryption-customer-algorithm', 'AES256'],
  ] as const) {
    for (const path of ['/k', `${upload}&partNumber=1`]) {
      const answer = await client.send({ method: 'PUT', bucket, path, headers: [[`:copy-source-${name}`, value]] })
      assert.equal(outcome(answer), '400 InvalidRequest', `${path} ${name}`)
    }
  }
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'as it was')
  assert.equal(textAt((await client.send({ method: 'GET', bucket, path: upload })).xml(), 'Part', 'Size'), '')
})

inBoth('R49 CopyObject UploadPartCopy: every combination of conditions on the source', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/from', 'x')
  const tag = (await head(client, bucket, '/from')).headers.get('etag') ?? ''
  const begun = await client.send({ method: 'POST', bucket, path: '/up?uploads' })
  const upload = `/up?partNumber=1&uploadId=${textAt(begun.xml(), 'UploadId')}`
  const date = (ms: number): string => new Date(client.clock.now() + ms).toUTCString()
  // Each absent, satisfied, and failed.
  const choices: readonly (readonly [string, string, string])[] = [
    ['if-match', tag, '"no"'],
    ['if-unmodified-since', date(60_000), date(-60_000)],
    ['if-none-match', '"no"', tag],
    ['if-modified-since', date(-60_000), date(60_000)],
  ]
  for (let turn = 0; turn < 81; turn++) {
    const picked = choices.map((_, index) => Math.floor(turn / 3 ** index) % 3)
    const headers = choices.flatMap(([name, ...values], index): [string, string][] =>
      picked[index] === 0 ? [] : [[`:copy-source-${name}`, values[picked[index]! - 1]!]],
    )
    const [match, unmodified, none, modified] = picked
    const refused = match === 2 || (match === 0 && unmodified === 2) || none === 2 || (none === 0 && modified === 2)
    for (const path of ['/to', upload]) {
      const answer = await copy(client, bucket, path, `${bucket}/from`, headers)
      assert.equal(outcome(answer), refused ? '412 PreconditionFailed' : '200', `${path} ${headers}`)
    }
  }
})

const KEPT = ['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'expires'] as const

inBoth('R46 CopyObject: metadata of the source as a whole, or of the request as a whole', async client => {
  const bucket = await makeBucket(client)
  const described = (word: string): Headers => [
    ...KEPT.map((name): [string, string] => [name, `${word}-${name}`]),
    ['Content-Type', `text/${word}`],
    [`:meta-${word}`, word],
  ]
  await put(client, bucket, '/from', 'x', described('old'))
  for (const directive of [[], [[':metadata-directive', 'COPY']]] as Headers[]) {
    await copy(client, bucket, '/to', `${bucket}/from`, [...directive, ...described('new')])
    const kept = await head(client, bucket, '/to')
    for (const name of KEPT) assert.equal(kept.headers.get(name), `old-${name}`)
    assert.equal(kept.headers.get('content-type'), 'text/old')
    assert.deepEqual([kept.own('meta-old'), kept.own('meta-new')], ['old', undefined])
  }
  await copy(client, bucket, '/to', `${bucket}/from`, [[':metadata-directive', 'REPLACE'], ...described('new')])
  const replaced = await head(client, bucket, '/to')
  for (const name of KEPT) assert.equal(replaced.headers.get(name), `new-${name}`)
  assert.equal(replaced.headers.get('content-type'), 'text/new')
  assert.deepEqual([replaced.own('meta-old'), replaced.own('meta-new')], [undefined, 'new'])
  await copy(client, bucket, '/to', `${bucket}/from`, [[':metadata-directive', 'REPLACE']])
  const bare = await head(client, bucket, '/to')
  for (const name of KEPT) assert.equal(bare.headers.get(name), undefined, name)
  assert.equal(bare.headers.get('content-type'), 'binary/octet-stream')
  assert.equal(bare.own('meta-old'), undefined)
  const many: Headers = [
    [':metadata-directive', 'REPLACE'],
    [':meta-a', 'x'.repeat(2048)],
  ]
  expectFault(await copy(client, bucket, '/to', `${bucket}/from`, many), 400, 'MetadataTooLarge')
})

inBoth('R47 R21 CopyObject: tags of the source, or of the request', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/from', 'x', [[':tagging', 'a=1&b=2']])
  const tagsAfter = async (...headers: Headers) => {
    const answer = await copy(client, bucket, '/to', `${bucket}/from`, headers)
    assert.equal(answer.status, 200, answer.body.toString())
    const shown = (await client.send({ method: 'GET', bucket, path: '/to?tagging' })).body.toString()
    return [...shown.matchAll(/<Key>(.*?)<\/Key><Value>(.*?)<\/Value>/g)].map(([, key, value]) => `${key}=${value}`)
  }
  const replace: [string, string] = [':tagging-directive', 'REPLACE']
  assert.deepEqual(await tagsAfter(), ['a=1', 'b=2'])
  assert.deepEqual(await tagsAfter([':tagging', 'c=3']), ['a=1', 'b=2'])
  assert.deepEqual(await tagsAfter([':tagging-directive', 'COPY'], [':tagging', 'c=3']), ['a=1', 'b=2'])
  assert.deepEqual(await tagsAfter(replace, [':tagging', 'c=3+%2B&d=']), ['c=3 +', 'd='])
  assert.deepEqual(await tagsAfter(replace), [])
  const from = (tags: string) => copy(client, bucket, '/to', `${bucket}/from`, [replace, [':tagging', tags]])
  expectFolded(client, await from('a=1&a=2'), 'InvalidArgument')
  expectFolded(client, await from('a=%zz'), 'InvalidArgument')
  expectFolded(client, await from(`${'k'.repeat(129)}=1`), 'InvalidTag')
  const eleven = [...Array(11).keys()].map(n => `k${n}=1`).join('&')
  expectFault(await from(eleven), 400, 'BadRequest')
})

const statement = (client: Client, resource: string, ...actions: readonly string[]) => {
  const [vendor, service] = client.dialect === 'svc' ? ['svc', 'svc'] : ['aws', 's3']
  return {
    Effect: 'Allow',
    Principal: { [vendor.toUpperCase()]: `arn:${vendor}:iam::${READER.accountId}:user/reader` },
    Action: actions.map(action => `${service}:${action}`),
    Resource: `arn:${vendor}:${service}:::${resource}`,
  }
}

async function allow(client: Client, bucket: string, ...actions: readonly string[]): Promise<void> {
  const body = JSON.stringify({ Version: '2012-10-17', Statement: [statement(client, `${bucket}/*`, ...actions)] })
  const set = await client.send({ method: 'PUT', bucket, path: '/?policy', body })
  assert.equal(set.status, 204, set.body.toString())
}

inBoth('R57 R60 CopyObject: each thing that the copy asks for needs its own permission', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/from', 'x', [[':tagging', 'a=1']])
  const target = await lockBucket(client)
  const until = new Date(client.clock.now() + DAY_MS).toISOString()
  const as = (...headers: Headers) => copy(client, target, '/to', `${bucket}/from`, headers, READER)
  assert.equal(outcome(await as()), '403 AccessDenied')
  await allow(client, target, 'PutObject')
  // Attributes of the source need no permission: its tags are copied.
  assert.equal(outcome(await as()), '200')
  assert.equal((await head(client, target, '/to')).own('tagging-count'), '1')
  for (const [action, ...headers] of [
    ['PutObjectTagging', [':tagging-directive', 'REPLACE'], [':tagging', 'b=2']],
    ['PutObjectAcl', [':acl', 'bucket-owner-full-control']],
    ['PutObjectAcl', [':grant-read', `id="${MAIN.canonicalId}"`]],
    ['PutObjectRetention', [':object-lock-mode', 'GOVERNANCE'], [':object-lock-retain-until-date', until]],
    ['PutObjectLegalHold', [':object-lock-legal-hold', 'ON']],
    ['PutObjectLegalHold', [':object-lock-legal-hold', 'OFF']],
  ] as [string, ...Headers][]) {
    await allow(client, target, 'PutObject')
    assert.equal(outcome(await as(...headers)), '403 AccessDenied', action)
    await allow(client, target, action)
    assert.equal(outcome(await as(...headers)), '403 AccessDenied', `${action} without PutObject`)
    await allow(client, target, 'PutObject', action)
    const allowed = await as(...headers)
    assert.equal(outcome(allowed), '200', `${action}: ${allowed.body}`)
  }
})

inBoth('R60 CopyObject: reading a version needs the right to versions', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  await parts.store.buckets.setVersioning(bucket, 'on')
  const version = await put(client, bucket, '/from', 'x')
  const target = await makeBucket(client, 'target-bucket')
  await allow(client, target, 'PutObject')
  // The reader may read objects, but not versions.
  assert.equal(outcome(await copy(client, target, '/to', `${bucket}/from`, [], READER)), '200')
  const named = `${bucket}/from?versionId=${version}`
  assert.equal(outcome(await copy(client, target, '/to', named, [], READER)), '403 AccessDenied')
  await allow(client, bucket, 'GetObjectVersion')
  assert.equal(outcome(await copy(client, target, '/to', named, [], READER)), '200')
})

inBoth(
  'R57 CopyObject: the copy is locked as asked, else by the bucket’s default, never as its source',
  async client => {
    const plain = await makeBucket(client)
    await put(client, plain, '/from')
    const bucket = await lockBucket(client)
    const now = client.clock.now()
    const retention = (mode: string, at: number): Headers => [
      [':object-lock-mode', mode],
      [':object-lock-retain-until-date', new Date(at).toISOString()],
    ]
    const late = retention('COMPLIANCE', now + DAY_MS)
    const nowhere = await copy(client, plain, '/to', `${plain}/from`, late)
    expectFault(nowhere, 400, 'InvalidRequest')
    assert.equal(textAt(nowhere.xml(), 'Message'), 'Bucket is missing ObjectLockConfiguration')
    expectFolded(
      client,
      await copy(client, bucket, '/to', `${plain}/from`, retention('GOVERNANCE', now)),
      'InvalidArgument',
    )
    expectFolded(client, await copy(client, bucket, '/to', `${plain}/from`, [late[0]!]), 'InvalidArgument')
    expectFolded(
      client,
      await copy(client, bucket, '/to', `${plain}/from`, retention('NEVER', now + 1)),
      'InvalidArgument',
    )
    assert.equal((await head(client, bucket, '/to')).status, 404)
    assert.equal((await copy(client, bucket, '/to', `${plain}/from`, late)).status, 200)
    assert.equal((await head(client, bucket, '/to')).own('object-lock-mode'), 'COMPLIANCE')
    await copy(client, bucket, '/free', `${bucket}/to`)
    assert.equal((await head(client, bucket, '/free')).own('object-lock-mode'), undefined)
    const rule = '<Rule><DefaultRetention><Mode>GOVERNANCE</Mode><Days>2</Days></DefaultRetention></Rule>'
    const enabled = '<ObjectLockEnabled>Enabled</ObjectLockEnabled>'
    await documentsOf(client, bucket, 'object-lock').put(
      `<ObjectLockConfiguration>${enabled}${rule}</ObjectLockConfiguration>`,
    )
    client.clock.move(1000)
    await copy(client, bucket, '/default', `${bucket}/to`)
    const byDefault = await head(client, bucket, '/default')
    assert.equal(byDefault.own('object-lock-mode'), 'GOVERNANCE')
    const until = new Date(now + 1000 + 2 * DAY_MS).toISOString()
    assert.equal(byDefault.own('object-lock-retain-until-date'), until)
  },
)

/** An object of any size, made of parts that share the bytes of one small source. */
async function makeLarge(parts: ServerParts, bucket: string, key: string, size: number): Promise<void> {
  const { store } = parts
  const owner = MAIN.canonicalId
  const make = async (name: string, from: string, step: number, total: number): Promise<void> => {
    const upload = await store.uploads.create({ bucket, key: name, initiator: owner, owner })
    const place = { bucket, key: name, uploadId: upload.id.toString('hex') }
    const listed = []
    for (let number = 1, at = 0; at < total; number++, at += step) {
      const range = { start: 0, end: Math.min(step, total - at) }
      listed.push(await store.uploads.copyPart({ ...place, number, from: { bucket, key: from }, range }))
    }
    await store.completion.complete({ ...place, parts: listed })
  }
  await store.objects.put({ bucket, key: 'seed', owner, body: [Buffer.alloc(64 * MIB)] })
  await make('gibibyte', 'seed', 64 * MIB, GIB)
  await make(key, 'gibibyte', GIB, size)
}

inBoth(
  'R58 D6 CopyObject UploadPartCopy: a source of 5 GiB is copied, one byte more is refused',
  async (client, { parts }) => {
    const bucket = await makeBucket(client)
    await makeLarge(parts, bucket, 'most', 5 * GIB)
    const most = await copy(client, bucket, '/to', `${bucket}/most`)
    assert.equal(most.status, 200, most.body.toString())
    assert.equal((await head(client, bucket, '/to')).headers.get('content-length'), String(5 * GIB))
    await makeLarge(parts, bucket, 'more', 5 * GIB + 1)
    const begun = await client.send({ method: 'POST', bucket, path: '/up?uploads' })
    const path = `/up?partNumber=1&uploadId=${textAt(begun.xml(), 'UploadId')}`
    for (const target of ['/more-of-it', path]) {
      const more = await copy(client, bucket, target, `${bucket}/more`)
      if (client.dialect === 'svc') {
        expectFault(more, 400, 'EntityTooLarge')
        assert.equal(detail(more, 'ProposedSize'), String(5 * GIB + 1))
        assert.equal(detail(more, 'MaxSizeAllowed'), String(5 * GIB))
      } else {
        expectFault(more, 400, 'InvalidRequest')
        assert.match(textAt(more.xml(), 'Message'), /maximum allowable size for a copy source: 5368709120$/)
      }
    }
    assert.equal((await head(client, bucket, '/more-of-it')).status, 404)
    const ranged: Headers = [[':copy-source-range', `bytes=1-${5 * GIB}`]]
    assert.equal((await copy(client, bucket, path, `${bucket}/more`, ranged)).status, 200)
  },
)

inBoth('R59 R89 R17 PutObject CopyObject CompleteMultipartUpload: the response has the expiration', async client => {
  const bucket = await makeBucket(client)
  const rule = '<Rule><ID>old one</ID><Filter><Prefix>logs/</Prefix></Filter><Status>Enabled</Status>'
  const expiring = `${rule}<Expiration><Days>1</Days></Expiration></Rule>`
  await documentsOf(client, bucket, 'lifecycle').put(`<LifecycleConfiguration>${expiring}</LifecycleConfiguration>`)
  const expected = 'expiry-date="Fri, 02 Jan 2026 00:00:00 GMT", rule-id="old%20one"'
  const made = await client.send({ method: 'PUT', bucket, path: '/logs/a', body: 'x' })
  assert.equal(made.own('expiration'), expected)
  assert.equal((await head(client, bucket, '/logs/a')).own('expiration'), expected)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/logs/a' })).own('expiration'), expected)
  const copied = await copy(client, bucket, '/logs/b', `${bucket}/logs/a`)
  assert.equal(copied.own('expiration'), expected)
  assert.equal((await copy(client, bucket, '/data/b', `${bucket}/logs/a`)).own('expiration'), undefined)
  // A copy has its own date.
  client.clock.move(DAY_MS + 5)
  const later = await copy(client, bucket, '/logs/c', `${bucket}/logs/a`)
  assert.equal(later.own('expiration'), expected.replace('Fri, 02', 'Sun, 04'))
  assert.equal(textAt(later.xml(), 'LastModified'), new Date(client.clock.now()).toISOString())
})

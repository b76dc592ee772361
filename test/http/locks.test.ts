/** The guarantees of locks over HTTP: what cannot be done to a locked version, by any operation. */
import assert from 'node:assert/strict'
import { document, get, type Headers, lockBucket, md5Header, outcome, put, text } from './actions.ts'
import { BYPASS, DAY, HOUR, hold, iso, LOCKED, ok, remove, retain } from './lock-requests.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, type Received, type Sending } from './server.ts'

const setDocument = (client: Client, bucket: string, query: string, body: string): Promise<Received> =>
  client.send({ method: 'PUT', bucket, path: `/?${query}`, ...document(body) })

const VERSIONING = (status: string): string =>
  `<VersioningConfiguration><Status>${status}</Status></VersioningConfiguration>`
const LOCKS = (rule = ''): string =>
  `<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>${rule}</ObjectLockConfiguration>`
const DEFAULT = (mode: string, period: string): string =>
  LOCKS(`<Rule><DefaultRetention><Mode>${mode}</Mode>${period}</DefaultRetention></Rule>`)

async function upload(client: Client, bucket: string, key: string, headers: Headers = []): Promise<string> {
  const begun = await ok(client.send({ method: 'POST', bucket, path: `/${key}?uploads`, headers }))
  return text(begun.xml(), 'UploadId')!
}

async function complete(client: Client, bucket: string, key: string, id: string, etag?: string): Promise<Received> {
  const path = `/${key}?partNumber=1&uploadId=${id}`
  const part = await ok(client.send({ method: 'PUT', bucket, path, body: 'in parts' }))
  const tag = etag ?? part.headers.get('etag')
  const list = `<Part><PartNumber>1</PartNumber><ETag>${tag}</ETag></Part>`
  const body = `<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`
  return client.send({ method: 'POST', bucket, path: `/${key}?uploadId=${id}`, body })
}

function postForm(client: Client, bucket: string, key: string): Promise<Received> {
  const line = '--b0b0\r\nContent-Disposition: form-data; '
  const body = `${line}name="key"\r\n\r\n${key}\r\n${line}name="file"; filename="f"\r\n\r\nby a form\r\n--b0b0--\r\n`
  const headers: Headers = [['Content-Type', 'multipart/form-data; boundary=b0b0']]
  return client.send({ method: 'POST', bucket, path: '/', body, headers, as: null })
}

/** Everything visible of a version: headers, bytes, tags, ACL. */
async function whole(client: Client, bucket: string, key: string, id: string | undefined): Promise<string> {
  const object = await ok(get(client, bucket, `/${key}?versionId=${id}`))
  const [tags, acl] = [
    await ok(get(client, bucket, `/${key}?tagging&versionId=${id}`)),
    await ok(get(client, bucket, `/${key}?acl&versionId=${id}`)),
  ]
  const ids = new Set(['date', client.name(':request-id'), client.name(':id-2')])
  const headers = [...object.headers].filter(([name]) => !ids.has(name)).sort()
  return JSON.stringify([headers, object.body.toString(), tags.body.toString(), acl.body.toString()])
}

const RICH: Headers = [
  [':meta-case', '12/26'],
  [':tagging', 'matter=12'],
  ['Content-Type', 'text/plain'],
]

inBoth('P4–P7 R39 R40: no write to its key changes a held version', async (client, { clock }) => {
  const bucket = await makeBucket(client, 'lock-bucket', [...LOCKED, [':acl', 'public-read-write']])
  const id = await put(client, bucket, '/k', 'evidence', RICH)
  await ok(hold(client, bucket, '/k', 'ON'))
  const before = await whole(client, bucket, 'k', id)
  clock.move(HOUR)
  await put(client, bucket, '/other', 'other')
  const over: Readonly<Record<string, () => Promise<Received>>> = {
    put: () => client.send({ method: 'PUT', bucket, path: '/k', body: 'new' }),
    copy: () => client.send({ method: 'PUT', bucket, path: '/k', headers: [[':copy-source', `/${bucket}/other`]] }),
    'copy onto itself': () =>
      client.send({
        method: 'PUT',
        bucket,
        path: '/k',
        headers: [
          [':copy-source', `/${bucket}/k?versionId=${id}`],
          [':metadata-directive', 'REPLACE'],
        ],
      }),
    complete: async () => complete(client, bucket, 'k', await upload(client, bucket, 'k')),
    form: () => postForm(client, bucket, 'k'),
  }
  const made = new Set([id])
  for (const [name, write] of Object.entries(over)) {
    const answer = await ok(write())
    const version = answer.own('version-id') ?? (await get(client, bucket, '/k')).own('version-id')
    assert(!made.has(version), `${name}: no new version`)
    made.add(version)
    assert.equal(await whole(client, bucket, 'k', id), before, name)
  }
})

inBoth('P8 P29: a null version from before object lock can be held, and nothing replaces it', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'from before')
  await ok(setDocument(client, bucket, 'versioning', VERSIONING('Enabled')))
  await ok(setDocument(client, bucket, 'object-lock', LOCKS()))
  await ok(hold(client, bucket, '/k?versionId=null', 'ON'))
  const before = await whole(client, bucket, 'k', 'null')
  await put(client, bucket, '/k', 'after')
  await ok(remove(client, bucket, '/k'))
  for (const headers of [[], BYPASS]) {
    assert.equal(outcome(await remove(client, bucket, '/k?versionId=null', headers)), '403 AccessDenied')
  }
  assert.equal(
    outcome(await setDocument(client, bucket, 'versioning', VERSIONING('Suspended'))),
    '409 InvalidBucketState',
  )
  assert.equal(await whole(client, bucket, 'k', 'null'), before)
  await ok(hold(client, bucket, '/k?versionId=null', 'OFF'))
  await ok(remove(client, bucket, '/k?versionId=null'))
  assert.equal((await get(client, bucket, '/k?versionId=null')).status, 404)
})

inBoth('P9: object lock requires versioning, keeps it enabled, and cannot be turned off', async client => {
  const bucket = await makeBucket(client)
  const set = async (query: string, body: string) => outcome(await setDocument(client, bucket, query, body))
  assert.equal(await set('object-lock', LOCKS()), '409 InvalidBucketState')
  assert.equal(await set('versioning', VERSIONING('Enabled')), '200')
  assert.equal(await set('versioning', VERSIONING('Suspended')), '200')
  assert.equal(await set('object-lock', LOCKS()), '409 InvalidBucketState')
  assert.equal(await set('versioning', VERSIONING('Enabled')), '200')
  assert.equal(await set('object-lock', LOCKS()), '200')
  assert.equal(await set('versioning', VERSIONING('Suspended')), '409 InvalidBucketState')
  assert.equal(await set('object-lock', LOCKS().replace('Enabled<', 'Disabled<')), '400 MalformedXML')
  assert.equal((await remove(client, bucket, '/?object-lock')).status, 405)
  assert.equal(text((await get(client, bucket, '/?object-lock')).xml(), 'ObjectLockEnabled'), 'Enabled')
})

inBoth('P10: a bucket with a version or a marker cannot be deleted by anyone', async client => {
  const bucket = await lockBucket(client)
  const id = await put(client, bucket, '/k')
  await ok(hold(client, bucket, '/k', 'ON'))
  assert.equal(outcome(await remove(client, bucket, '/')), '409 BucketNotEmpty')
  await ok(hold(client, bucket, '/k', 'OFF'))
  const marker = (await ok(remove(client, bucket, '/k'))).own('version-id')
  await ok(remove(client, bucket, `/k?versionId=${id}`))
  assert.equal(outcome(await remove(client, bucket, '/')), '409 BucketNotEmpty')
  await ok(remove(client, bucket, `/k?versionId=${marker}`))
  await ok(remove(client, bucket, '/'))
})

inBoth(
  'P18 R40: tags and ACL of a locked version can change, without permitting a delete',
  async (client, { clock }) => {
    const bucket = await lockBucket(client)
    const id = await put(client, bucket, '/k', 'evidence', RICH)
    await ok(hold(client, bucket, '/k', 'ON'))
    await ok(retain(client, bucket, '/k', 'COMPLIANCE', clock.now() + DAY))
    const before = await ok(get(client, bucket, `/k?versionId=${id}`))
    const tags = '<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>'
    const everybody = JSON.stringify({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Principal: '*', Action: 'svc:*', Resource: `arn:svc:svc:::${bucket}/*` }],
    })
    const expiry = '<Expiration><Days>1</Days></Expiration>'
    const rule = `<Rule><Status>Enabled</Status><Filter/>${expiry}</Rule>`
    const rules = `<LifecycleConfiguration>${rule}</LifecycleConfiguration>`
    const cors = '<CORSRule><AllowedMethod>DELETE</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule>'
    const ownership = '<Rule><ObjectOwnership>BucketOwnerEnforced</ObjectOwnership></Rule>'
    const changes: readonly (readonly [string, Partial<Sending>])[] = [
      ['/k?tagging', document(tags)],
      ['/k?acl', { headers: [[':acl', 'public-read']] }],
      ['/?policy', document(everybody)],
      ['/?cors', document(`<CORSConfiguration>${cors}</CORSConfiguration>`)],
      ['/?ownershipControls', document(`<OwnershipControls>${ownership}</OwnershipControls>`)],
      ['/?lifecycle', document(rules)],
    ]
    for (const [path, sent] of changes) {
      await ok(client.send({ method: 'PUT', bucket, path, ...sent }))
      for (const as of [MAIN, OTHER]) {
        const request = { method: 'DELETE', bucket, path: `/k?versionId=${id}`, headers: BYPASS, as }
        assert.equal(outcome(await client.send(request)), '403 AccessDenied', path)
      }
    }
    const after = await ok(get(client, bucket, `/k?versionId=${id}`))
    assert.equal(after.body.toString(), before.body.toString())
    const names = [
      'etag',
      'last-modified',
      'content-type',
      ':meta-case',
      ':object-lock-mode',
      ':object-lock-legal-hold',
    ]
    for (const name of names) {
      const wire = client.name(name).toLowerCase()
      assert.equal(after.headers.get(wire), before.headers.get(wire), name)
    }
  },
)

inBoth(
  'P19: a clock that jumps ahead releases nothing; a date in the past is refused',
  async (client, { clock, parts }) => {
    const bucket = await lockBucket(client)
    const id = await put(client, bucket, '/k')
    assert.equal(outcome(await retain(client, bucket, '/k', 'GOVERNANCE', clock.now() - HOUR)), '400 InvalidArgument')
    await ok(retain(client, bucket, '/k', 'COMPLIANCE', clock.now() + 10 * DAY))
    clock.jump(30 * DAY)
    assert.equal(outcome(await remove(client, bucket, `/k?versionId=${id}`, BYPASS)), '403 AccessDenied')
    clock.jump(-60 * DAY)
    assert.equal(outcome(await remove(client, bucket, `/k?versionId=${id}`, BYPASS)), '403 AccessDenied')
    clock.jump(60 * DAY)
    await parts.store.context.lockClock.confirm(parts.store.context)
    await ok(remove(client, bucket, `/k?versionId=${id}`))
  },
)

inBoth('P22 P27: a copy does not inherit the lock, and deleting either leaves the other intact', async client => {
  const bucket = await lockBucket(client)
  const body = Buffer.alloc(70_000, 'evidence')
  const id = await put(client, bucket, '/k', body)
  await ok(hold(client, bucket, '/k', 'ON'))
  const copy = (key: string, headers: Headers = []) =>
    client.send({ method: 'PUT', bucket, path: `/${key}`, headers: [[':copy-source', `/${bucket}/k`], ...headers] })
  const free = (await ok(copy('free'))).own('version-id')
  assert.equal((await get(client, bucket, '/free')).own('object-lock-legal-hold'), undefined)
  await ok(remove(client, bucket, `/free?versionId=${free}`))
  const held = (await ok(copy('held', [[':object-lock-legal-hold', 'ON']]))).own('version-id')
  assert.equal((await get(client, bucket, '/held')).own('object-lock-legal-hold'), 'ON')
  await ok(hold(client, bucket, '/k', 'OFF'))
  await ok(remove(client, bucket, `/k?versionId=${id}`))
  assert.ok((await get(client, bucket, `/held?versionId=${held}`)).body.equals(body))
  assert.equal(outcome(await remove(client, bucket, `/held?versionId=${held}`)), '403 AccessDenied')
})

inBoth('P25 R27 R57: incomplete, unknown and unverified lock headers are refused', async (client, { clock }) => {
  const [bucket, plain] = [await lockBucket(client), await makeBucket(client)]
  const until: [string, string] = [':object-lock-retain-until-date', iso(clock.now() + HOUR)]
  const mode: [string, string] = [':object-lock-mode', 'GOVERNANCE']
  const onPut = (at: string, headers: Headers) =>
    client.send({ method: 'PUT', bucket: at, path: '/k', body: 'x', headers })
  const proven = (...headers: Headers): Headers => [md5Header('x'), ...headers]
  const bad: readonly (readonly [string, Headers, string])[] = [
    [bucket, proven(mode), '400 InvalidArgument'],
    [bucket, proven(until), '400 InvalidArgument'],
    [bucket, proven([':object-lock-mode', 'governance'], until), '400 InvalidArgument'],
    [bucket, proven([':object-lock-legal-hold', 'on']), '400 InvalidArgument'],
    [bucket, proven(mode, [until[0], iso(clock.now() - 1)]), '400 InvalidArgument'],
    [bucket, proven(mode, [until[0], 'soon']), '400 InvalidArgument'],
    [bucket, [mode, until], '400 InvalidRequest'],
    [plain, proven(mode, until), '400 InvalidRequest'],
    [plain, proven([':object-lock-legal-hold', 'ON']), '400 InvalidRequest'],
  ]
  for (const [at, headers, wanted] of bad) {
    assert.equal(outcome(await onPut(at, headers)), wanted, JSON.stringify(headers))
    assert.equal((await get(client, at, '/k')).status, 404)
  }
  await ok(onPut(bucket, proven(mode, until, [':object-lock-legal-hold', 'OFF'])))
  const shown = await get(client, bucket, '/k')
  assert.deepEqual(
    ['object-lock-mode', 'object-lock-retain-until-date', 'object-lock-legal-hold'].map(name => shown.own(name)),
    ['GOVERNANCE', until[1], 'OFF'],
  )
})

inBoth('P26 R57: default retention applies to every new version, from its completion', async (client, { clock }) => {
  const bucket = await makeBucket(client, 'lock-bucket', [...LOCKED, [':acl', 'public-read-write']])
  const before = await put(client, bucket, '/old', 'old')
  const begun = await upload(client, bucket, 'parts')
  await ok(setDocument(client, bucket, 'object-lock', DEFAULT('COMPLIANCE', '<Years>1</Years>')))
  clock.move(HOUR)
  const until = iso(clock.now() + 365 * DAY)
  assert.equal(
    outcome(await client.send({ method: 'PUT', bucket, path: '/put', body: 'x' })),
    '400 InvalidRequest',
    'a put that will be retained is proven',
  )
  await put(client, bucket, '/put', 'x', [md5Header('x')])
  await ok(client.send({ method: 'PUT', bucket, path: '/copy', headers: [[':copy-source', `/${bucket}/old`]] }))
  await ok(complete(client, bucket, 'parts', begun))
  for (const key of ['put', 'copy', 'parts']) {
    const shown = await get(client, bucket, `/${key}`)
    assert.deepEqual(
      [shown.own('object-lock-mode'), shown.own('object-lock-retain-until-date')],
      ['COMPLIANCE', until],
      key,
    )
  }
  assert.equal((await get(client, bucket, `/old?versionId=${before}`)).own('object-lock-mode'), undefined)
  const asked: Headers = [
    [':object-lock-mode', 'GOVERNANCE'],
    [':object-lock-retain-until-date', iso(clock.now() + HOUR)],
  ]
  await put(client, bucket, '/asked', 'x', [md5Header('x'), ...asked])
  assert.equal((await get(client, bucket, '/asked')).own('object-lock-mode'), 'GOVERNANCE')
  await ok(setDocument(client, bucket, 'object-lock', LOCKS()))
  assert.equal((await get(client, bucket, '/put')).own('object-lock-retain-until-date'), until)
})

inBoth('P28: an upload never changes a held version, whether it completes, fails or is aborted', async client => {
  const bucket = await lockBucket(client)
  const id = await put(client, bucket, '/k', 'evidence', RICH)
  await ok(hold(client, bucket, '/k', 'ON'))
  const before = await whole(client, bucket, 'k', id)
  const [failing, aborted] = [await upload(client, bucket, 'k'), await upload(client, bucket, 'k')]
  assert.equal(outcome(await complete(client, bucket, 'k', failing, '"0"')), '400 InvalidPart')
  await ok(client.send({ method: 'PUT', bucket, path: `/k?partNumber=1&uploadId=${aborted}`, body: 'part' }))
  await ok(remove(client, bucket, `/k?uploadId=${aborted}`))
  assert.equal(await whole(client, bucket, 'k', id), before)
  assert.equal((await get(client, bucket, '/k')).own('version-id'), id)
})

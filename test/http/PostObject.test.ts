import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { SCHEMES } from '../../src/auth/signing.ts'
import { document, get, outcome, text } from './actions.ts'
import { type Client, inBoth, MAIN, makeBucket, READER, type Received, type Who } from './server.ts'

const BOUNDARY = '----form0123456789'
const BUCKET = 'test-bucket'

type Field = readonly [string, string]

interface Posting {
  readonly fields?: readonly Field[]
  readonly file?: Buffer | string
  readonly fileName?: string
  readonly after?: readonly Field[]
  readonly headers?: readonly Field[]
}

const part = (disposition: string, value: Buffer | string): Buffer =>
  Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ])

const formOf = ({ fields = [], file = 'hello', fileName = 'a.txt', after = [] }: Posting): Buffer =>
  Buffer.concat([
    ...fields.map(([name, value]) => part(`name="${name}"`, value)),
    part(`name="file"; filename="${fileName}"`, file),
    ...after.map(([name, value]) => part(`name="${name}"`, value)),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ])

function post(client: Client, posting: Posting, body = formOf(posting)): Promise<Received> {
  const headers: Field[] = [['Content-Type', `multipart/form-data; boundary=${BOUNDARY}`], ...(posting.headers ?? [])]
  return client.send({ method: 'POST', bucket: BUCKET, path: '/', body, headers, as: null })
}

type Condition = Readonly<Record<string, string>> | readonly (string | number)[]

/** The fields of a form whose policy allows exactly these, plus the given conditions. */
function signed(
  client: Client,
  fields: readonly Field[],
  conditions: readonly Condition[] = [],
  { by = MAIN, expires = 3_600_000 }: { by?: Who; expires?: number } = {},
): Field[] {
  const scheme = SCHEMES[client.dialect]
  const stamp = new Date(client.clock.now()).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const scope = [stamp.slice(0, 8), 'us-east-1', scheme.service, scheme.terminator]
  const all: Field[] = [
    ...fields.map(([name, value]): Field => [client.name(name), value]),
    [client.name(':algorithm'), scheme.algorithm],
    [client.name(':credential'), `${by.accessKey}/${scope.join('/')}`],
    [client.name(':date'), stamp],
  ]
  const covered = new Set(
    conditions.flatMap(one => (Array.isArray(one) ? [String(one[1]).slice(1)] : Object.keys(one))),
  )
  const document = {
    expiration: new Date(client.clock.now() + expires).toISOString(),
    conditions: [
      ...(covered.has('bucket') ? [] : [{ bucket: BUCKET }]),
      ...all.filter(([name]) => !covered.has(name)).map(([name, value]) => ({ [name]: value })),
      ...conditions,
    ],
  }
  const policy = Buffer.from(JSON.stringify(document)).toString('base64')
  const mac = (key: Buffer | string, value: string): Buffer => createHmac('sha256', key).update(value).digest()
  const key = scope.reduce<Buffer | string>((k, word) => mac(k, word), scheme.keyPrefix + by.secretKey)
  return [...all, ['policy', policy], [client.name(':signature'), mac(key, policy).toString('hex')]]
}

inBoth('G5 PostObject: a signed form stores its file with the headers in its fields', async client => {
  const bucket = await makeBucket(client)
  const fields = signed(client, [
    ['key', 'up/a.txt'],
    ['Content-Type', 'text/plain'],
    [':meta-colour', 'blü'],
    ['tagging', '<Tagging><TagSet><Tag><Key>a b</Key><Value>c+d</Value></Tag></TagSet></Tagging>'],
    ['acl', 'public-read'],
  ])
  const file = Buffer.from([...Array(256).keys()])
  const answer = await post(client, { fields, file, after: [['key', 'ignored']] })
  assert.equal(outcome(answer), '204')
  assert.match(answer.headers.get('etag') ?? '', /^"[0-9a-f]{32}"$/)
  const stored = await get(client, bucket, '/up/a.txt')
  assert(stored.body.equals(file))
  assert.equal(stored.headers.get('content-type'), 'text/plain')
  assert.equal(stored.own('meta-colour'), Buffer.from('blü').toString('latin1'))
  assert.equal(stored.own('tagging-count'), '1')
  assert.equal(text((await get(client, bucket, '/up/a.txt?tagging')).xml().children[0]!, 'Value'), 'c+d')
  assert.equal((await client.send({ method: 'GET', bucket, path: '/up/a.txt', as: null })).status, 200)
  assert.equal((await get(client, bucket, '/ignored')).status, 404)
})

inBoth('G5 PostObject: a field that is no valid header name is refused without effect', async client => {
  const bucket = await makeBucket(client)
  for (const name of ['a b', 'a:b', 'ü', 'a\tb']) {
    const fields = signed(client, [
      ['key', 'k'],
      [`:meta-${name}`, '1'],
    ])
    assert.equal(outcome(await post(client, { fields })), '400 InvalidArgument', name)
    assert.equal(outcome(await get(client, bucket, '/k')), '404 NoSuchKey', name)
  }
})

inBoth('G5 PostObject: the filename variable expands in the key, and fields choose the response', async client => {
  const bucket = await makeBucket(client)
  const starts: Condition = ['starts-with', '$key', 'up/']
  const key: Field = ['key', 'up/$'.concat('{filename}')]
  const created = await post(client, {
    fields: signed(client, [key, ['success_action_status', '201']], [starts]),
    fileName: 'C:\\x\\b c.txt',
  })
  assert.equal(created.status, 201)
  assert.equal(created.xml().name, 'PostResponse')
  assert.equal(text(created.xml(), 'Bucket'), bucket)
  assert.equal(text(created.xml(), 'Key'), 'up/b c.txt')
  assert.equal(text(created.xml(), 'ETag'), '"5d41402abc4b2a76b9719d911017c592"')
  assert.match(text(created.xml(), 'Location') ?? '', /\/up\/b%20c\.txt$/)
  assert.equal((await get(client, bucket, '/up/b%20c.txt')).body.toString(), 'hello')
  const plain = await post(client, {
    fields: signed(client, [
      ['key', 'k'],
      ['success_action_status', '200'],
    ]),
  })
  assert.equal(plain.status, 200)
  const odd = await post(client, {
    fields: signed(client, [
      ['key', 'k'],
      ['success_action_status', '404'],
    ]),
  })
  assert.equal(odd.status, 204)
  const to = 'http://shop.example/done?x=1'
  const sent = await post(client, {
    fields: signed(client, [
      ['key', 'k'],
      ['success_action_redirect', to],
    ]),
  })
  assert.equal(sent.status, 303)
  const location = 'http://shop.example/done?x=1&bucket=test-bucket&key=k&etag=%225d41402abc4b2a76b9719d911017c592%22'
  assert.equal(sent.headers.get('location'), location)
  const bad = await post(client, {
    fields: signed(client, [
      ['key', 'k'],
      ['success_action_redirect', 'javascript:x'],
    ]),
  })
  assert.equal(bad.status, 204)
  assert.equal(bad.headers.get('location')?.startsWith('javascript'), false)
})

inBoth('A29 PostObject: a form that violates its policy is not stored', async client => {
  const bucket = await makeBucket(client)
  const denied = '403 AccessDenied'
  const good = signed(client, [
    ['key', 'k'],
    ['Content-Type', 'text/plain'],
    [':meta-a', 'b'],
  ])
  const changed = (name: string, value: string): Field[] =>
    good.map(field => (field[0] === name ? [name, value] : field))
  for (const [fields, wanted] of [
    [changed('key', 'other'), denied],
    [changed('Content-Type', 'text/html'), denied],
    [changed(client.name(':meta-a'), 'c'), denied],
    [[...good, ['acl', 'public-read']], denied],
    [[...good, [client.name(':acl'), 'public-read']], denied],
    [[...good, ['bucket', 'another']], denied],
    [[...good, ['key', 'twice']], '400 InvalidArgument'],
    [good.filter(([name]) => name !== client.name(':meta-a')), denied],
    [changed('policy', Buffer.from('{}').toString('base64')), '403 SignatureDoesNotMatch'],
    [changed(client.name(':signature'), '0'.repeat(64)), '403 SignatureDoesNotMatch'],
    [good.filter(([name]) => name !== client.name(':signature')), '400 InvalidArgument'],
    [good.filter(([name]) => name !== 'policy'), '400 InvalidArgument'],
    [signed(client, [['key', 'k']], [], { expires: -1 }), denied],
    [signed(client, [['key', 'k']], [{ bucket: 'another' }]), denied],
    [signed(client, [['key', 'k']], [], { by: READER }), denied],
    [[['key', 'k']], denied],
  ] as const) {
    assert.equal(outcome(await post(client, { fields })), wanted, JSON.stringify(fields[0]))
  }
  const beside = await post(client, { fields: good, headers: [[':acl', 'public-read']] })
  assert.equal(outcome(beside), '400 InvalidRequest')
  assert.equal((await get(client, bucket, '/?list-type=2')).body.includes('<Key>'), false)
})

inBoth('A29 PostObject: content-length-range limits the file', async client => {
  const bucket = await makeBucket(client)
  const fields = signed(client, [['key', 'k']], [['content-length-range', 3, 5]])
  assert.equal(outcome(await post(client, { fields, file: 'xx' })), '400 EntityTooSmall')
  assert.equal(outcome(await post(client, { fields, file: 'x'.repeat(6) })), '400 EntityTooLarge')
  assert.equal((await get(client, bucket, '/k')).status, 404)
  assert.equal((await post(client, { fields, file: 'x'.repeat(5) })).status, 204)
  assert.equal((await get(client, bucket, '/k')).body.toString(), 'xxxxx')
})

inBoth('A69 PostObject: malformed forms are refused', async client => {
  const bucket = await makeBucket(client)
  const fields = signed(client, [['key', 'k']])
  const whole = formOf({ fields })
  const raw = (body: Buffer, type: string): Promise<Received> =>
    client.send({ method: 'POST', bucket, path: '/', body, headers: [['Content-Type', type]], as: null })
  const type = `multipart/form-data; boundary=${BOUNDARY}`
  assert.equal(outcome(await raw(whole, 'text/plain')), '412 PreconditionFailed')
  assert.equal(outcome(await raw(whole, 'multipart/form-data')), '400 MalformedPOSTRequest')
  assert.equal(outcome(await raw(whole, 'multipart/form-data; boundary=other')), '400 MalformedPOSTRequest')
  assert.equal(outcome(await raw(whole.subarray(0, whole.length - 30), type)), '400 MalformedPOSTRequest')
  assert.equal(outcome(await raw(Buffer.from(''), type)), '400 MalformedPOSTRequest')
  assert.equal(outcome(await raw(Buffer.from(`--${BOUNDARY}--\r\n`), type)), '400 InvalidArgument')
  const long: Field = ['x-ignore-this', 'x'.repeat(21 * 1024)]
  assert.equal(outcome(await post(client, { fields: [long, ...fields] })), '400 MaxPostPreDataLengthExceededError')
  assert.equal(outcome(await post(client, { fields: [], after: fields })), '400 InvalidArgument')
  const keyless = await post(client, { fields: signed(client, []) })
  assert.equal(outcome(keyless), '400 InvalidArgument')
  assert.notEqual(keyless.own('request-id'), undefined)
  const many = Array.from({ length: 1000 }, (_, i): Field => [`x-ignore-${i}`, ''])
  assert.equal(outcome(await post(client, { fields: many })), '400 MalformedPOSTRequest')
  const split = signed(client, [
    ['key', 'k'],
    ['Content-Type', 'a\r\nSet-Cookie: x'],
  ])
  assert.equal(outcome(await post(client, { fields: split })), '400 InvalidArgument')
  assert.equal((await get(client, bucket, '/k')).status, 404)
})

inBoth('A3 PostObject: a form with another or a wrong signature is refused', async client => {
  const bucket = await makeBucket(client)
  const body = formOf({ fields: [['key', 'k']] })
  const headers: Field[] = [['Content-Type', `multipart/form-data; boundary=${BOUNDARY}`]]
  assert.equal((await client.send({ method: 'POST', bucket, path: '/', body, headers })).status, 400)
  const wrong = { ...MAIN, secretKey: 'wrong' }
  const forged = await client.send({ method: 'POST', bucket, path: '/', body, headers, as: wrong })
  assert.equal(outcome(forged), '403 SignatureDoesNotMatch')
  assert.equal((await get(client, bucket, '/k')).status, 404)
})

inBoth('P17 PostObject: a legal hold in a form needs object lock, a checksum and permission', async client => {
  await makeBucket(client, BUCKET, [[':bucket-object-lock-enabled', 'true']])
  const md5: Field = ['Content-MD5', 'XUFAKrxLKna5cZ2REBfFkg==']
  const held = signed(client, [['key', 'k'], [':object-lock-legal-hold', 'ON'], md5])
  const answer = await post(client, { fields: held })
  assert.equal(outcome(answer), '204')
  assert.equal((await get(client, BUCKET, '/k')).own('object-lock-legal-hold'), 'ON')
  const version = answer.own('version-id')
  assert.equal((await client.send({ method: 'DELETE', bucket: BUCKET, path: `/k?versionId=${version}` })).status, 403)
  const unproven = signed(client, [
    ['key', 'j'],
    [':object-lock-legal-hold', 'ON'],
  ])
  assert.equal(outcome(await post(client, { fields: unproven })), '400 InvalidRequest')
  assert.equal((await get(client, BUCKET, '/j')).status, 404)
})

inBoth('R9 PostObject: an anonymous form may write to a public bucket', async client => {
  const bucket = await makeBucket(client, BUCKET, [[':acl', 'public-read-write']])
  assert.equal((await post(client, { fields: [['key', 'open']] })).status, 204)
  const listed = await get(client, bucket, '/?list-type=2')
  assert(listed.body.includes('<Key>open</Key>'))
})

inBoth('G5 PostObject: a file larger than one read, and a second request on the same bucket', async client => {
  const bucket = await makeBucket(client)
  const file = Buffer.alloc(3 * 2 ** 20 + 17, '\r\n--')
  const answer = await post(client, { fields: signed(client, [['key', 'big']]), file })
  assert.equal(outcome(answer), '204')
  assert((await get(client, bucket, '/big')).body.equals(file))
})

inBoth('A84 PostObject: a redirect with line breaks is refused', async client => {
  const bucket = await makeBucket(client)
  const fields = signed(client, [
    ['key', 'k'],
    [':website-redirect-location', '/a\r\nSet-Cookie: b'],
  ])
  assert.equal(outcome(await post(client, { fields })), '400 InvalidArgument')
  assert.equal((await get(client, bucket, '/k')).status, 404)
})

inBoth('D25 PostObject: while versioning is suspended, only svc returns the null version id', async client => {
  const bucket = await makeBucket(client)
  const body = '<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>'
  await client.send({ method: 'PUT', bucket, path: '/?versioning', ...document(body) })
  const posted = await post(client, { fields: signed(client, [['key', 'k']]) })
  assert.equal(outcome(posted), '204')
  assert.equal(posted.own('version-id'), client.dialect === 'svc' ? 'null' : undefined)
  assert.equal((await get(client, bucket, '/k')).own('version-id'), 'null')
})

inBoth('G5 PostObject: headers unrelated to the object are allowed beside the form', async client => {
  const bucket = await makeBucket(client)
  const fields = signed(client, [['key', 'k']])
  for (const header of [
    [client.name(':content-sha256'), 'UNSIGNED-PAYLOAD'],
    [client.name(':content-sha256'), createHash('sha256').update(formOf({ fields })).digest('hex')],
    [client.name(':date'), '20200101T000000Z'],
    [client.name(':user-agent'), 'sdk'],
  ] as const) {
    const answer = await post(client, { fields, headers: [header] })
    assert.equal(outcome(answer), '204', answer.body.toString())
  }
  assert.equal((await get(client, bucket, '/k')).body.toString(), 'hello')
  const other = await post(client, {
    fields: signed(client, [['key', 'other']]),
    headers: [[client.name(':content-sha256'), '0'.repeat(64)]],
  })
  assert.match(outcome(other), /^400 X(Svc|Amz)ContentSHA256Mismatch$/)
  assert.equal((await get(client, bucket, '/other')).status, 404)
  for (const name of [':acl', ':meta-a', ':storage-class', ':content-sha256-']) {
    assert.equal(outcome(await post(client, { fields, headers: [[client.name(name), 'x']] })), '400 InvalidRequest')
  }
  const mixed = client.dialect === 'svc' ? 'x-amz-content-sha256' : 'x-svc-content-sha256'
  assert.equal(outcome(await post(client, { fields, headers: [[mixed, 'UNSIGNED-PAYLOAD']] })), '400 InvalidRequest')
})

inBoth('G5 PostObject: a form without a file gets S3’s error', async client => {
  await makeBucket(client)
  const answer = await post(client, {}, Buffer.concat([part('name="key"', 'k'), Buffer.from(`--${BOUNDARY}--\r\n`)]))
  assert.equal(outcome(answer), '400 InvalidArgument')
  assert.equal(text(answer.xml(), 'Message'), 'POST requires exactly one file upload per request.')
  assert.equal(text(answer.xml(), 'ArgumentName'), 'file')
  assert.equal(text(answer.xml(), 'ArgumentValue'), '0')
})

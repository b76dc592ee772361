import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { document, get, type Headers, objectInParts, outcome, put, text, versionedBucket } from './actions.ts'
import { inBoth, MAIN, makeBucket, OTHER, READER } from './server.ts'

inBoth('R1 R5 GetObject: returns the stored bytes, with request ids on every response', async client => {
  const bucket = await makeBucket(client)
  const put = await client.send({
    method: 'PUT',
    bucket,
    path: '/a%20b/%C3%BC',
    body: 'hello',
    headers: [
      ['Content-Type', 'text/plain'],
      [':meta-Colour', 'blue'],
    ],
  })
  assert.equal(put.status, 200)
  assert.equal(put.headers.get('etag'), '"5d41402abc4b2a76b9719d911017c592"')
  const got = await client.send({ method: 'GET', bucket, path: '/a%20b/%C3%BC' })
  assert.equal(got.status, 200)
  assert.equal(got.body.toString(), 'hello')
  assert.equal(got.headers.get('content-type'), 'text/plain')
  assert.equal(got.own('meta-colour'), 'blue')
  const gone = await client.send({ method: 'GET', bucket, path: '/none' })
  assert.equal(gone.status, 404)
  assert.equal(gone.code(), 'NoSuchKey')
  for (const answer of [put, got, gone]) {
    assert.match(answer.own('request-id') ?? '', /^[0-9A-F]{16}$/)
    assert(answer.own('id-2') !== undefined)
    assert(answer.headers.has('date'))
  }
})

inBoth('R117 GetObject: an error echoes names as requested, also ones that look like headers', async client => {
  const bucket = await makeBucket(client)
  for (const key of ['x-svc-key', 'x-amz-key']) {
    assert.equal(text((await get(client, bucket, `/${key}`)).xml(), 'Key'), key)
    assert.equal(text((await get(client, `${key}-bucket`, '/')).xml(), 'BucketName'), `${key}-bucket`)
  }
})

inBoth('R3 GetObject: keys are bytes as sent, never normalised', async client => {
  const bucket = await makeBucket(client)
  for (const path of ['/a/../b', '/a/./b', '//', '/%2e%2e/x', '/a+b', '/a%2Fb/', '/__proto__']) {
    const body = `at ${path}`
    assert.equal((await client.send({ method: 'PUT', bucket, path, body })).status, 200, path)
  }
  for (const path of ['/a/../b', '/a/./b', '//', '/a+b', '/__proto__']) {
    assert.equal((await client.send({ method: 'GET', bucket, path })).body.toString(), `at ${path}`)
  }
  assert.equal((await client.send({ method: 'GET', bucket, path: '/../x' })).body.toString(), 'at /%2e%2e/x')
})

inBoth('G11 GetObject: a suffix range of an empty object returns all of it', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/empty', '')
  for (const [range, status] of [
    ['bytes=-1', 200],
    ['bytes=-65536', 200],
    ['bytes=-0', 416],
    ['bytes=0-', 416],
    ['bytes=0-0', 416],
    ['bytes=5-9', 416],
  ] as const) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await client.send({ method, bucket, path: '/empty', headers: [['Range', range]] })
      assert.equal(answer.status, status, `${method} ${range}`)
      assert.equal(answer.headers.get('content-range'), status === 416 ? 'bytes */0' : undefined)
      if (status === 200) assert.equal(answer.headers.get('content-length'), '0')
    }
  }
})

inBoth('GetObject: ranges, and 416 beyond the end', async client => {
  const bucket = await makeBucket(client)
  await client.send({ method: 'PUT', bucket, path: '/k', body: '0123456789' })
  const range = (value: string) => client.send({ method: 'GET', bucket, path: '/k', headers: [['Range', value]] })
  for (const [asked, got, where] of [
    ['bytes=2-4', '234', 'bytes 2-4/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=0-99', '0123456789', 'bytes 0-9/10'],
  ] as const) {
    const answer = await range(asked)
    assert.equal(answer.status, 206)
    assert.equal(answer.body.toString(), got)
    assert.equal(answer.headers.get('content-range'), where)
  }
  assert.equal((await range('bytes=1-2,4-5')).status, 200)
  const bad = await range('bytes=10-')
  assert.equal(bad.status, 416)
  assert.equal(bad.code(), 'InvalidRange')
  assert.equal(bad.headers.get('content-range'), 'bytes */10')
})

inBoth('R9 GetObject: 403 without permission, also for a missing key', async client => {
  const bucket = await makeBucket(client)
  await client.send({ method: 'PUT', bucket, path: '/k', body: 'x' })
  for (const as of [OTHER, null]) {
    for (const path of ['/k', '/none']) {
      const answer = await client.send({ method: 'GET', bucket, path, as })
      assert.equal(answer.status, 403)
      assert.equal(answer.code(), 'AccessDenied')
    }
  }
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k', as: READER })).status, 200)
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/k', body: 'y', as: READER })).status, 403)
})

inBoth('G11 GetObject: partNumber reads one part, with its own checksum', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  const bodies = [Buffer.alloc(5 * 2 ** 20, 'A'), Buffer.alloc(5 * 2 ** 20, 'B'), Buffer.from('C')]
  await objectInParts(parts, bucket, 'k', bodies)
  const size = 10 * 2 ** 20 + 1
  const mode: Headers = [[':checksum-mode', 'ENABLED']]
  const second = await get(client, bucket, '/k?partNumber=2', mode)
  assert.equal(second.status, 206)
  assert(second.body.equals(bodies[1]!))
  assert.equal(second.headers.get('content-range'), `bytes ${5 * 2 ** 20}-${10 * 2 ** 20 - 1}/${size}`)
  assert.equal(second.own('mp-parts-count'), '3')
  assert.equal(second.own('checksum-crc32'), 'QoZTGg==')
  const last = await client.send({ method: 'HEAD', bucket, path: '/k?partNumber=3' })
  assert.equal(last.status, 206)
  assert.equal(last.headers.get('content-length'), '1')
  assert.equal(last.own('checksum-crc32'), undefined)
  const whole = await get(client, bucket, '/k', mode)
  assert.match(whole.own('checksum-crc32') ?? '', /-3$/)
  assert.equal(whole.own('checksum-type'), 'COMPOSITE')
  assert.equal(outcome(await get(client, bucket, '/k?partNumber=4')), '416 InvalidPartNumber')
  assert.equal(outcome(await get(client, bucket, '/k?partNumber=1', [['Range', 'bytes=0-1']])), '400 InvalidRequest')
  const ranged = await get(client, bucket, '/k', [['Range', 'bytes=0-1'], ...mode])
  assert.equal(ranged.status, 206)
  assert.equal(ranged.own('checksum-crc32'), undefined)
})

inBoth('A60 GetObject: a single-part object has part 1 only', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'hello')
  const first = await get(client, bucket, '/k?partNumber=1')
  assert.equal(first.status, 206)
  assert.equal(first.body.toString(), 'hello')
  assert.equal(first.own('mp-parts-count'), undefined)
  assert.equal(outcome(await get(client, bucket, '/k?partNumber=2')), '416 InvalidPartNumber')
  for (const bad of ['0', '10001', '-1', 'x', '1e1', '']) {
    assert.equal(outcome(await get(client, bucket, `/k?partNumber=${bad}`)), '400 InvalidArgument', bad)
  }
})

inBoth('A60 GetObject: part 1 of an empty object is 200 without Content-Range', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/empty', '')
  for (const method of ['GET', 'HEAD']) {
    const answer = await client.send({ method, bucket, path: '/empty?partNumber=1' })
    assert.equal(answer.status, 200, method)
    assert.equal(answer.headers.get('content-range'), undefined, method)
    assert.equal(answer.headers.get('content-length'), '0', method)
  }
})

inBoth('A54 A55 GetObject: response header overrides require a signature', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'x', [
    ['Content-Type', 'text/plain'],
    ['Cache-Control', 'no-store'],
    [':acl', 'public-read'],
  ])
  const path = '/k?response-content-type=text%2Fhtml&response-content-disposition=attachment%3B%20filename%3D%C3%BC'
  const answer = await get(client, bucket, path)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'text/html')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const sent = Buffer.from(answer.headers.get('content-disposition') ?? '', 'latin1').toString('utf8')
  assert.equal(sent, 'attachment; filename=ü')
  const head = await client.send({ method: 'HEAD', bucket, path: '/k?response-expires=never' })
  assert.equal(head.headers.get('expires'), 'never')
  for (const bad of ['a%0D%0ASet-Cookie%3Ax', 'a%0AX', 'a%00b']) {
    const refused = await get(client, bucket, `/k?response-content-disposition=${bad}`)
    assert.equal(refused.status, 400, bad)
    assert.equal(refused.headers.get('set-cookie'), undefined)
  }
  const anonymous = await client.send({ method: 'GET', bucket, path: '/k?response-content-type=a', as: null })
  assert.equal(outcome(anonymous), '400 InvalidRequest')
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k', as: null })).status, 200)
})

const KEY = Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64')
const KEY_MD5 = 'tP/LI3N87DFaSk0aoqYgzg=='
const OTHER_KEY = Buffer.alloc(32, 7)

const trio = (key: string, md5: string, algorithm = 'AES256'): Headers => [
  [':server-side-encryption-customer-algorithm', algorithm],
  [':server-side-encryption-customer-key', key],
  [':server-side-encryption-customer-key-md5', md5],
]

inBoth('R25 A71 GetObject: an object under a customer key needs that key', async (client, { parts }) => {
  const bucket = await makeBucket(client)
  await parts.store.objects.put({
    bucket,
    key: 'k',
    owner: MAIN.canonicalId,
    body: Readable.from([Buffer.from('secret bytes')]),
    encryption: { by: 'customer', key: Buffer.from(KEY, 'base64'), md5: KEY_MD5 },
  })
  await put(client, bucket, '/plain')
  for (const method of ['GET', 'HEAD']) {
    const read = (path: string, headers: Headers) => client.send({ method, bucket, path, headers })
    assert.equal((await read('/k', trio(KEY, KEY_MD5))).status, 200)
    assert.equal((await read('/k', [])).status, 400)
    const wrong = trio(OTHER_KEY.toString('base64'), createHash('md5').update(OTHER_KEY).digest('base64'))
    assert.equal((await read('/k', wrong)).status, 403)
    assert.equal((await read('/plain', trio(KEY, KEY_MD5))).status, 400)
  }
  const right = await get(client, bucket, '/k', trio(KEY, KEY_MD5))
  assert.equal(right.body.toString(), 'secret bytes')
  for (const bad of [
    trio(KEY, 'AAAAAAAAAAAAAAAAAAAAAA=='),
    trio(KEY, KEY_MD5, 'AES128'),
    trio('AAAA', KEY_MD5),
    trio(KEY, KEY_MD5).slice(1),
    trio(KEY, KEY_MD5).slice(0, 2),
  ]) {
    const refused = await get(client, bucket, '/k', bad)
    assert.equal(outcome(refused), '400 InvalidArgument')
    assert(!refused.body.includes(KEY), 'the key is not repeated')
  }
})

inBoth(
  'G11 GetObject: a delete marker answers 404 with its header, or 405 by version id',
  async (client, { parts }) => {
    const bucket = await versionedBucket(client, parts)
    const first = await put(client, bucket, '/k', 'one')
    const gone = await client.send({ method: 'DELETE', bucket, path: '/k' })
    const marker = gone.own('version-id')
    const current = await get(client, bucket, '/k')
    assert.equal(outcome(current), '404 NoSuchKey')
    assert.equal(current.own('delete-marker'), 'true')
    const named = await get(client, bucket, `/k?versionId=${marker}`)
    assert.equal(outcome(named), '405 MethodNotAllowed')
    assert.equal(named.headers.get('allow'), 'DELETE')
    assert.equal(named.own('delete-marker'), 'true')
    const old = await get(client, bucket, `/k?versionId=${first}`)
    assert.equal(old.body.toString(), 'one')
    assert.equal(old.own('version-id'), first)
    assert.equal(outcome(await get(client, bucket, `/k?versionId=${'0'.repeat(32)}`)), '404 NoSuchVersion')
    assert.equal(outcome(await get(client, bucket, '/k?versionId=junk')), '400 InvalidArgument')
    assert.equal((await get(client, bucket, '/never')).own('delete-marker'), undefined)
  },
)

inBoth('G11 GetObject: preconditions', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'hello')
  const etag = '"5d41402abc4b2a76b9719d911017c592"'
  const future = 'Fri, 01 Jan 2100 00:00:00 GMT'
  const past = 'Thu, 01 Jan 1998 00:00:00 GMT'
  for (const [headers, status] of [
    [[['If-Match', etag]], 200],
    [[['If-Match', '"no"']], 412],
    [[['If-None-Match', etag]], 304],
    [[['If-None-Match', '"no"']], 200],
    [[['If-Modified-Since', past]], 200],
    [[['If-Modified-Since', future]], 304],
    [[['If-Unmodified-Since', past]], 412],
    [
      [
        ['If-Match', etag],
        ['If-Unmodified-Since', past],
      ],
      200,
    ],
    [
      [
        ['If-None-Match', etag],
        ['If-Modified-Since', past],
      ],
      304,
    ],
  ] as const) {
    const answer = await get(client, bucket, '/k', headers)
    assert.equal(answer.status, status, JSON.stringify(headers))
    if (status === 304) assert.equal(answer.headers.get('etag'), etag)
  }
})

inBoth(
  'G11 GetObject HeadObject: a 304 has validators and caching headers, and no entity headers',
  async (client, { parts }) => {
    const bucket = await versionedBucket(client, parts)
    const id = await put(client, bucket, '/k', 'hello', [
      ['Cache-Control', 'max-age=60'],
      ['Expires', 'Fri, 01 Jan 2100 00:00:00 GMT'],
      ['Content-Language', 'en'],
      [':meta-a', 'b'],
    ])
    const cached: Headers = [['If-None-Match', '"5d41402abc4b2a76b9719d911017c592"']]
    for (const method of ['GET', 'HEAD']) {
      const whole = await client.send({ method, bucket, path: '/k' })
      const known = await client.send({ method, bucket, path: '/k', headers: cached })
      assert.equal(known.status, 304)
      for (const name of ['etag', 'last-modified', 'cache-control', 'expires']) {
        assert(whole.headers.has(name), name)
        assert.equal(known.headers.get(name), whole.headers.get(name), name)
      }
      assert.equal(known.own('version-id'), id)
      assert.equal(known.own('meta-a'), undefined)
      for (const name of ['content-length', 'content-type', 'content-language', 'transfer-encoding']) {
        assert.equal(known.headers.get(name), undefined, name)
      }
    }
    const replaced = await get(client, bucket, '/k?response-cache-control=no-store', cached)
    assert.equal(replaced.headers.get('cache-control'), 'no-store')
  },
)

inBoth('R14 GetObject: headers and metadata beyond ASCII come back byte for byte', async client => {
  const bucket = await makeBucket(client)
  const bytes = (value: string): string => Buffer.from(value, 'utf8').toString('latin1')
  await put(client, bucket, '/k', 'x', [
    ['Content-Language', bytes('Ünïcode-文')],
    [':meta-name', bytes('文')],
    [':meta-bytes', 'caf\xe9 \x80\xff'],
    [':website-redirect-location', bytes('/ü/文')],
  ])
  const answer = await get(client, bucket, '/k')
  assert.equal(answer.headers.get('content-language'), bytes('Ünïcode-文'))
  assert.equal(answer.own('meta-name'), bytes('文'))
  assert.equal(answer.own('meta-bytes'), 'caf\xe9 \x80\xff')
  assert.equal(answer.own('website-redirect-location'), bytes('/ü/文'))
})

inBoth('R89 GetObject HeadObject: the expiration header names the lifecycle rule and date', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/logs/a')
  await put(client, bucket, '/kept')
  const rule = '<Filter><Prefix>logs/</Prefix></Filter><Expiration><Days>3</Days></Expiration>'
  const rules = `<Rule><ID>r 1</ID><Status>Enabled</Status>${rule}</Rule>`
  const body = `<LifecycleConfiguration>${rules}</LifecycleConfiguration>`
  const set = await client.send({ method: 'PUT', bucket, path: '/?lifecycle', ...document(body) })
  assert.equal(set.status, 200, set.body.toString())
  for (const method of ['GET', 'HEAD']) {
    const answer = await client.send({ method, bucket, path: '/logs/a' })
    assert.match(answer.own('expiration') ?? '', /^expiry-date="[A-Z][a-z]{2}, .* GMT", rule-id="r%201"$/)
    assert.equal((await client.send({ method, bucket, path: '/kept' })).own('expiration'), undefined)
  }
})

inBoth('R22 GetObject HeadObject: encryption headers are refused on reads', async client => {
  const bucket = await makeBucket(client)
  await put(client, bucket, '/k', 'x', [[':server-side-encryption', 'AES256']])
  for (const value of ['AES256', 'rot13', '']) {
    const headers: Headers = [[':server-side-encryption', value]]
    assert.equal(outcome(await get(client, bucket, '/k', headers)), '400 InvalidArgument')
    assert.equal((await client.send({ method: 'HEAD', bucket, path: '/k', headers })).status, 400)
    const attributes: Headers = [[':object-attributes', 'ETag'], ...headers]
    assert.equal(outcome(await get(client, bucket, '/k?attributes', attributes)), '400 InvalidArgument')
  }
  assert.equal(outcome(await get(client, bucket, '/k')), '200')
})

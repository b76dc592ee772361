import assert from 'node:assert/strict'
import { documentsOf, faultIs } from './bucket-documents.ts'
import { type Client, inBoth, makeBucket, type Received } from './server.ts'

const CORS =
  '<CORSConfiguration><CORSRule><AllowedOrigin>https://*.example.com</AllowedOrigin>' +
  '<AllowedMethod>GET</AllowedMethod>' +
  '<AllowedMethod>PUT</AllowedMethod><AllowedHeader>Content-*</AllowedHeader><ExposeHeader>ETag</ExposeHeader>' +
  '<MaxAgeSeconds>600</MaxAgeSeconds></CORSRule><CORSRule><AllowedOrigin>*</AllowedOrigin>' +
  '<AllowedMethod>HEAD</AllowedMethod></CORSRule></CORSConfiguration>'
const PAGE = 'https://app.example.com'

const preflight = (client: Client, bucket: string, method: string, more: [string, string][] = [], origin = PAGE) =>
  client.send({
    method: 'OPTIONS',
    bucket,
    path: '/k',
    as: null,
    headers: [['Origin', origin], ['Access-Control-Request-Method', method], ...more],
  })

const allowed = ({ headers }: Received) => ({
  origin: headers.get('access-control-allow-origin'),
  credentials: headers.get('access-control-allow-credentials'),
})
const NONE = { origin: undefined, credentials: undefined }

inBoth('G16 Preflight: an allowed request is answered without a signature', async client => {
  const bucket = await makeBucket(client)
  await documentsOf(client, bucket, 'cors').put(CORS)
  const asked: [string, string] = ['Access-Control-Request-Headers', 'content-type, Content-MD5']
  const answer = await preflight(client, bucket, 'PUT', [asked])
  assert.equal(answer.status, 200)
  assert.deepEqual(allowed(answer), { origin: PAGE, credentials: 'true' })
  assert.equal(answer.headers.get('access-control-allow-methods'), 'GET, PUT')
  assert.equal(answer.headers.get('access-control-allow-headers'), 'content-type, content-md5')
  assert.equal(answer.headers.get('access-control-max-age'), '600')
  assert.equal(answer.headers.get('access-control-expose-headers'), 'ETag')
  assert.match(answer.headers.get('vary') ?? '', /Origin/)
  assert.equal(answer.body.length, 0)
})

inBoth('G16 Preflight: no matching rule is 403 AccessForbidden', async client => {
  const bucket = await makeBucket(client)
  faultIs(await preflight(client, bucket, 'GET'), 403, 'AccessForbidden')
  faultIs(await preflight(client, 'no-such-bucket', 'GET'), 403, 'AccessForbidden')
  await documentsOf(client, bucket, 'cors').put(CORS)
  faultIs(await preflight(client, bucket, 'DELETE'), 403, 'AccessForbidden')
  faultIs(await preflight(client, bucket, 'GET', [], 'https://example.org'), 403, 'AccessForbidden')
  faultIs(await preflight(client, bucket, 'GET', [], 'http://app.example.com'), 403, 'AccessForbidden')
  const header: [string, string] = ['Access-Control-Request-Headers', 'authorization']
  const miss = await preflight(client, bucket, 'GET', [header])
  faultIs(miss, 403, 'AccessForbidden')
  assert.deepEqual(allowed(miss), NONE)
  assert.equal(miss.xml().children.find(({ name }) => name === 'ResourceType')?.text, 'OBJECT')
  const bare = await client.send({ method: 'OPTIONS', bucket, path: '/k', as: null })
  faultIs(bare, 400, 'BadRequest')
  faultIs(
    await client.send({ method: 'OPTIONS', bucket, path: '/', as: null, headers: [['Origin', PAGE]] }),
    400,
    'BadRequest',
  )
})

inBoth('A57 Preflight: no headers without rules; no wildcard origin with credentials', async client => {
  const bucket = await makeBucket(client)
  const get = (method = 'GET', path = '/', origin = PAGE) =>
    client.send({ method, bucket, path, headers: [['Origin', origin]] })
  assert.deepEqual(allowed(await get()), NONE)
  await documentsOf(client, bucket, 'cors').put(CORS)
  assert.deepEqual(allowed(await get()), { origin: PAGE, credentials: 'true' })
  assert.deepEqual(allowed(await get('HEAD', '/', 'https://example.org')), { origin: '*', credentials: undefined })
  assert.deepEqual(allowed(await get('GET', '/', 'https://example.org')), NONE)
  const plain = await client.send({ method: 'GET', bucket, path: '/' })
  assert.deepEqual(allowed(plain), NONE)
  // A page must be able to read why its request was refused.
  const missing = await get('GET', '/none')
  faultIs(missing, 404, 'NoSuchKey')
  assert.deepEqual(allowed(missing), { origin: PAGE, credentials: 'true' })
  const odd = await get('HEAD', '/', 'https://ü.example.com')
  assert.equal(odd.status, 200)
  assert.deepEqual(allowed(odd), NONE)
})

inBoth('G16 Preflight: a negative max age is returned as zero', async client => {
  const bucket = await makeBucket(client)
  const documents = documentsOf(client, bucket, 'cors')
  assert.equal((await documents.put(CORS.replace('600', '-1'))).status, 200)
  assert.match((await documents.get()).body.toString(), /<MaxAgeSeconds>-1</)
  assert.equal((await preflight(client, bucket, 'GET')).headers.get('access-control-max-age'), '0')
})

inBoth('G16 Preflight: an unsupported method is a bad request', async client => {
  const bucket = await makeBucket(client)
  for (const method of ['PATCH', 'get', 'OPTIONS', '*']) {
    const refused = await preflight(client, bucket, method)
    faultIs(refused, 400, 'BadRequest')
    assert.match(refused.body.toString(), new RegExp(`Invalid Access-Control-Request-Method: [${method}]`))
  }
})

inBoth('G16 Preflight: a header counts once, and up to 100 may be requested', async client => {
  const bucket = await makeBucket(client)
  await documentsOf(client, bucket, 'cors').put(CORS)
  const ask = (names: readonly string[]): Promise<Received> =>
    preflight(client, bucket, 'GET', [['Access-Control-Request-Headers', names.join(',')]])
  const repeated = await ask(Array<string>(500).fill('Content-Type').concat('content-type'))
  assert.equal(repeated.status, 200)
  assert.equal(repeated.headers.get('access-control-allow-headers'), 'content-type')
  const names = Array.from({ length: 101 }, (_, index) => `content-${index}`)
  assert.equal((await ask(names.slice(1))).status, 200)
  faultIs(await ask(names), 403, 'AccessForbidden')
})

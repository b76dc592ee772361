import assert from 'node:assert/strict'
import { get, type Headers, outcome, put } from './actions.ts'
import { documentsOf } from './bucket-documents.ts'
import { type Client, inBoth, makeBucket, type Received } from './server.ts'

const INDEX = '<IndexDocument><Suffix>index.html</Suffix></IndexDocument>'
const ERROR = '<ErrorDocument><Key>error.html</Key></ErrorDocument>'
const PUBLIC: Headers = [[':acl', 'public-read']]

const page = (type = 'text/html'): Headers => [...PUBLIC, ['Content-Type', type]]

async function makeSite(client: Client, inside = INDEX + ERROR, listable = true): Promise<string> {
  const bucket = await makeBucket(client, 'my-site', listable ? [[':acl', 'public-read']] : [])
  await setSite(client, bucket, inside)
  return bucket
}

async function setSite(client: Client, bucket: string, inside: string): Promise<void> {
  const set = await documentsOf(client, bucket, 'website').put(`<WebsiteConfiguration>${inside}</WebsiteConfiguration>`)
  assert.equal(set.status, 200, set.body.toString())
}

/** Requests a page as a browser does. */
const visit = (
  client: Client,
  bucket: string,
  path: string,
  headers: Headers = [],
  method = 'GET',
): Promise<Received> => client.send({ method, bucket: `${bucket}.website`, path, headers, as: null })

const redirected = ({ status, headers }: Received): string => `${status} ${headers.get('location')}`

inBoth('R12 website: a folder shows its index, its name without a slash leads to it', async client => {
  const bucket = await makeSite(client)
  await put(client, bucket, '/index.html', 'home', page())
  await put(client, bucket, '/a%20b/index.html', 'inner', page())
  await put(client, bucket, '/private/index.html', 'hidden')
  await put(client, bucket, '/error.html', 'oh no', page())
  const home = await visit(client, bucket, '/')
  assert.deepEqual([home.status, home.body.toString(), home.headers.get('content-type')], [200, 'home', 'text/html'])
  assert.equal((await visit(client, bucket, '/a%20b/')).body.toString(), 'inner')
  assert.equal((await visit(client, bucket, '/index.html?query=ignored&acl')).body.toString(), 'home')
  assert.equal(redirected(await visit(client, bucket, '/a%20b')), '302 /a%20b/')
  assert.equal((await visit(client, bucket, '/private')).status, 404)
  assert.equal((await visit(client, bucket, '/private/')).status, 403)
})

inBoth('R12 website: serves only publicly readable objects, even to signed requests', async (client, { log }) => {
  const bucket = await makeSite(client, INDEX, false)
  await put(client, bucket, '/private', 'mine')
  const signed = await client.send({ method: 'GET', bucket: `${bucket}.website`, path: '/private' })
  assert.equal(signed.status, 403)
  assert.equal(signed.headers.get('content-type'), 'text/html; charset=utf-8')
  // Without permission to list, a missing page is not reported as missing.
  assert.equal((await visit(client, bucket, '/missing')).status, 403)
  const last = log.at(-1)
  assert.deepEqual([last?.operation, last?.code, last?.caller], ['Website', 'AccessDenied', undefined])
})

inBoth('R12 website: conditions and ranges apply, and HEAD matches GET', async client => {
  const bucket = await makeSite(client)
  await put(client, bucket, '/index.html', '0123456789', page())
  const whole = await visit(client, bucket, '/')
  const etag = whole.headers.get('etag')!
  const part = await visit(client, bucket, '/', [['Range', 'bytes=2-4']])
  assert.deepEqual([part.status, part.body.toString(), part.headers.get('content-range')], [206, '234', 'bytes 2-4/10'])
  const same = await visit(client, bucket, '/', [['If-None-Match', etag]])
  assert.deepEqual([same.status, same.body.length, same.headers.get('etag')], [304, 0, etag])
  assert.equal((await visit(client, bucket, '/', [['If-Match', '"other"']])).status, 412)
  const beyond = await visit(client, bucket, '/', [['Range', 'bytes=10-']])
  assert.deepEqual([beyond.status, beyond.headers.get('content-range')], [416, 'bytes */10'])
  const head = await visit(client, bucket, '/', [], 'HEAD')
  assert.deepEqual([head.status, head.headers.get('content-length'), head.body.length], [200, '10', 0])
  const missing = await visit(client, bucket, '/missing', [], 'HEAD')
  assert.deepEqual([missing.status, missing.body.length], [404, 0])
})

inBoth('R12 website: the error document comes with the status of the error', async (client, { log }) => {
  const bucket = await makeSite(client)
  const bare = await visit(client, bucket, '/missing')
  assert.equal(bare.status, 404)
  assert.match(bare.body.toString(), /<h1>404 Not Found<\/h1>[\s\S]*<li>Code: NoSuchKey<\/li>/)
  await put(client, bucket, '/error.html', 'oh no', page('text/html; charset=utf-8'))
  const shown = await visit(client, bucket, '/missing', [['Range', 'bytes=0-1']])
  assert.deepEqual([shown.status, shown.body.toString()], [404, 'oh no'])
  assert.equal(shown.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.equal(shown.headers.get('etag'), undefined)
  assert.equal(log.at(-1)?.code, 'NoSuchKey')
  const head = await visit(client, bucket, '/missing', [], 'HEAD')
  assert.deepEqual([head.status, head.headers.get('content-length')], [404, '5'])
})

inBoth('R12 website: routing rules before and after the lookup', async client => {
  const rule = (condition: string, redirect: string): string =>
    `<RoutingRule><Condition>${condition}</Condition><Redirect>${redirect}</Redirect></RoutingRule>`
  const rules =
    rule(
      '<KeyPrefixEquals>old/</KeyPrefixEquals>',
      '<ReplaceKeyPrefixWith>new/</ReplaceKeyPrefixWith><HttpRedirectCode>307</HttpRedirectCode>',
    ) + rule('<HttpErrorCodeReturnedEquals>404</HttpErrorCodeReturnedEquals>', '<HostName>elsewhere.example</HostName>')
  const bucket = await makeSite(client, `${INDEX}${ERROR}<RoutingRules>${rules}</RoutingRules>`)
  await put(client, bucket, '/old/there', 'never seen', page())
  await put(client, bucket, '/error.html', 'never seen', page())
  await put(client, bucket, '/kept', 'seen', page())
  assert.equal(redirected(await visit(client, bucket, '/old/there')), '307 http://my-site.website.hf.example/new/there')
  assert.equal(redirected(await visit(client, bucket, '/missing')), '301 http://elsewhere.example/missing')
  assert.equal((await visit(client, bucket, '/kept')).body.toString(), 'seen')
  const everything =
    '<RedirectAllRequestsTo><HostName>b.example</HostName><Protocol>https</Protocol></RedirectAllRequestsTo>'
  await setSite(client, bucket, everything)
  assert.equal(redirected(await visit(client, bucket, '/kept')), '301 https://b.example/kept')
})

inBoth('R28 website: an object’s redirect is always followed on the website host', async client => {
  const bucket = await makeSite(client)
  const to = (location: string): Headers => [...PUBLIC, [':website-redirect-location', location]]
  await put(client, bucket, '/away', 'body', to('https://b.example/x?y=1'))
  await put(client, bucket, '/here', 'body', to('/kept'))
  await put(client, bucket, '/private', 'body', [[':website-redirect-location', '/kept']])
  for (const method of ['GET', 'HEAD']) {
    assert.equal(redirected(await visit(client, bucket, '/away?a=b', [], method)), '301 https://b.example/x?y=1')
    assert.equal(redirected(await visit(client, bucket, '/here', [], method)), '301 /kept')
  }
  assert.equal((await visit(client, bucket, '/private')).status, 403)
})

inBoth('R28: on the bucket host only plain anonymous requests are redirected', async client => {
  const bucket = await makeBucket(client, 'my-site')
  await put(client, bucket, '/away', 'body', [...PUBLIC, [':website-redirect-location', '/kept']])
  const plain = (path = '/away', method = 'GET') => client.send({ method, bucket, path, as: null })
  const untouched = async (answer: Received): Promise<void> => {
    assert.deepEqual([answer.status, answer.body.toString()], [200, 'body'])
    // An unsigned request does not show its dialect.
    const told = answer.headers.get('x-svc-website-redirect-location')
    assert.equal(told ?? answer.headers.get('x-amz-website-redirect-location'), '/kept')
  }
  await untouched(await plain())
  await setSite(client, bucket, INDEX)
  assert.equal(redirected(await plain()), '301 /kept')
  assert.equal(redirected(await plain('/away', 'HEAD')), '301 /kept')
  await untouched(await plain('/away?x=1'))
  await untouched(await get(client, bucket, '/away'))
  // In path style the redirect would lead into another bucket.
  await untouched(await client.send({ method: 'GET', path: `/${bucket}/away`, as: null }))
})

inBoth('A84: unsafe redirects are refused', async client => {
  const bucket = await makeBucket(client)
  for (const location of ['//evil.example', '/\\evil.example', 'javascript:alert(1)', 'evil', '', 'http:/x']) {
    const headers: Headers = [[':website-redirect-location', location]]
    const answer = await client.send({ method: 'PUT', bucket, path: '/a', body: 'x', headers })
    assert.equal(outcome(answer), '400 InvalidRedirectLocation', location)
  }
  assert.equal((await get(client, bucket, '/a')).status, 404)
})

inBoth('A80: names in an error page are text', async client => {
  const bucket = await makeSite(client, INDEX)
  const answer = await visit(client, bucket, '/%3Cimg%20src=x%20onerror=%22alert(1)%22%3E%27')
  assert.equal(answer.status, 404)
  const html = answer.body.toString()
  assert.match(html, /Key: &lt;img src=x onerror=&quot;alert\(1\)&quot;&gt;&#39;/)
  assert.doesNotMatch(html, /<img/)
})

inBoth('website: nothing but GET, HEAD and OPTIONS, and only of buckets that are websites', async client => {
  const bucket = await makeSite(client)
  for (const method of ['PUT', 'POST', 'DELETE']) {
    const answer = await visit(client, bucket, '/a', [], method)
    assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'GET, HEAD, OPTIONS'], method)
  }
  assert.match((await visit(client, 'none-such', '/')).body.toString(), /Code: NoSuchBucket/)
  const other = await makeBucket(client, 'other')
  const answer = await visit(client, other, '/')
  assert.equal(answer.status, 404)
  assert.match(answer.body.toString(), /Code: NoSuchWebsiteConfiguration/)
  assert.equal((await visit(client, bucket, '/%zz')).status, 400)
})

inBoth('website: pages that are redirected away hold no bytes', async (client, { parts }) => {
  const bucket = await makeSite(client)
  await put(client, bucket, '/away', Buffer.alloc(100_000), [...PUBLIC, [':website-redirect-location', '/kept']])
  for (let i = 0; i < 5; i++) await visit(client, bucket, '/away')
  assert.equal(parts.store.context.readers.count, 0)
})

inBoth('website: errors are also reported in headers', async client => {
  const bucket = await makeSite(client, INDEX)
  const missing = await visit(client, bucket, '/none')
  assert.equal(missing.status, 404)
  assert.equal(missing.own('error-code'), 'NoSuchKey')
  assert.equal(missing.own('error-message'), 'The specified key does not exist.')
  const head = await visit(client, bucket, '/none', [], 'HEAD')
  assert.equal(head.own('error-code'), 'NoSuchKey')
  await setSite(client, bucket, INDEX + ERROR)
  await put(client, bucket, '/error.html', 'oh no', page())
  const shown = await visit(client, bucket, '/none')
  assert.equal(shown.body.toString(), 'oh no')
  assert.equal(shown.own('error-code'), 'NoSuchKey')
  assert.equal(shown.own('error-message'), 'The specified key does not exist.')
  assert.equal((await visit(client, bucket, '/error.html')).own('error-code'), undefined)
})

inBoth('website: redirects keep the query, except those set on an object', async client => {
  const bucket = await makeSite(client)
  await put(client, bucket, '/folder/index.html', 'inner', page())
  await put(client, bucket, '/away', '', [...PUBLIC, [':website-redirect-location', '/kept']])
  assert.equal(redirected(await visit(client, bucket, '/folder?a=1&b')), '302 /folder/?a=1&b')
  assert.equal(redirected(await visit(client, bucket, '/away?a=1')), '301 /kept')
  const rule = (inside: string): string => `<RoutingRules><RoutingRule>${inside}</RoutingRule></RoutingRules>`
  const renamed =
    '<Redirect><HostName>new.example</HostName><ReplaceKeyPrefixWith>new/</ReplaceKeyPrefixWith></Redirect>'
  const old = `<Condition><KeyPrefixEquals>old/</KeyPrefixEquals></Condition>${renamed}`
  await setSite(client, bucket, INDEX + rule(old))
  assert.equal(redirected(await visit(client, bucket, '/old/k?a=%20')), '301 http://new.example/new/k?a=%20')
  await setSite(client, bucket, '<RedirectAllRequestsTo><HostName>new.example</HostName></RedirectAllRequestsTo>')
  assert.equal(redirected(await visit(client, bucket, '/k?a=1')), '301 http://new.example/k?a=1')
  assert.equal(redirected(await visit(client, bucket, '/k')), '301 http://new.example/k')
})

inBoth('website: preflights are answered by the rules of the bucket', async client => {
  const bucket = await makeSite(client)
  const asks: Headers = [
    ['Origin', 'https://app.example'],
    ['Access-Control-Request-Method', 'GET'],
  ]
  assert.equal((await visit(client, bucket, '/k', asks, 'OPTIONS')).status, 403)
  const rule = '<CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod></CORSRule>'
  await documentsOf(client, bucket, 'cors').put(`<CORSConfiguration>${rule}</CORSConfiguration>`)
  const answer = await visit(client, bucket, '/k', asks, 'OPTIONS')
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  assert.equal(answer.headers.get('access-control-allow-methods'), 'GET')
  assert.equal((await visit(client, bucket, '/k', [], 'OPTIONS')).status, 400)
  const other = await makeBucket(client, 'other')
  assert.equal((await visit(client, other, '/k', asks, 'OPTIONS')).status, 404)
})

/** Malicious policies, part lists, forms, redirects and customer keys; XML in general: attacks-xml.test.ts. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { SCHEMES } from '../../src/auth/signing.ts'
import { BOUNDARY, FORM_TYPE, formBody, signedFields } from '../specimens/forms.ts'
import type { Pair, Signer } from '../specimens/signing.ts'
import { get, type Headers, outcome, put } from './actions.ts'
import { documentsOf, faultIs } from './bucket-documents.ts'
import { inEither } from './long.ts'
import { begin, part, textAt } from './parts.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, type Received } from './server.ts'

const BUCKET = 'test-bucket'

const signerOf = (client: Client): Signer => ({
  scheme: SCHEMES[client.dialect],
  accessKey: MAIN.accessKey,
  secretKey: MAIN.secretKey,
  region: 'us-east-1',
  now: client.clock.now(),
})

const fieldsOf = (client: Client, fields: readonly Pair[]): Pair[] =>
  signedFields(signerOf(client), { bucket: BUCKET, fields, until: client.clock.now() + 60_000 })

const postBody = (client: Client, body: Buffer, type = FORM_TYPE[1]): Promise<Received> =>
  client.send({ method: 'POST', bucket: BUCKET, path: '/', body, headers: [['Content-Type', type]], as: null })

const post = (client: Client, fields: readonly Pair[]): Promise<Received> =>
  postBody(client, formBody(fieldsOf(client, fields), Buffer.from('posted')))

inEither('A66: form tags are validated like all tags', async client => {
  const bucket = await makeBucket(client, BUCKET)
  const tag = (key: string): string => `<Tag><Key>${key}</Key><Value>v</Value></Tag>`
  const set = (tags: string): string => `<Tagging><TagSet>${tags}</TagSet></Tagging>`
  for (const [tagging, wanted] of [
    ['', '400 MalformedXML'],
    ['<Tagging>', '400 MalformedXML'],
    ['<Tagging/>', '400 MalformedXML'],
    [`<!DOCTYPE a [<!ENTITY e "x">]>${set(tag('&e;'))}`, '400 MalformedXML'],
    ['<a>'.repeat(1_000), '400 MalformedXML'],
    [set('<__proto__/>'), '400 MalformedXML'],
    [set('0123456789a'.split('').map(tag).join('')), '400 BadRequest'],
    [set(tag('a') + tag('a')), '400 InvalidTag'],
    [set(tag('aws:a')), '400 InvalidTag'],
  ] as const) {
    const answer = await post(client, [
      ['key', 'k'],
      ['tagging', tagging],
    ])
    assert.equal(outcome(answer), wanted, tagging.slice(0, 60))
  }
  assert.equal((await get(client, bucket, '/k')).status, 404)
  assert.equal(
    (
      await post(client, [
        ['key', 'k'],
        ['tagging', set(tag('a'))],
      ])
    ).status,
    204,
  )
})

inEither('A67: deep, malformed or oversized policies change nothing', async client => {
  const at = documentsOf(client, await makeBucket(client, BUCKET), 'policy')
  const principal = `"Principal":{"SVC":"${OTHER.accountId}"}`
  const statement = `"Effect":"Allow",${principal},"Action":"svc:GetObject","Resource":"arn:svc:svc:::${BUCKET}/*"`
  const policy = (inside: string): string => `{"Version":"2012-10-17","Statement":[{${inside}}]}`
  const good = policy(statement)
  assert.equal((await at.put(good)).status, 204)
  for (const [what, text] of [
    ['deep lists', `{"Statement":${'['.repeat(5_000)}`],
    ['deep maps', '{"a":'.repeat(4_000)],
    ['a member twice', policy(`${statement},"Effect":"Deny"`)],
    ['a member twice, written differently', policy(`${statement},"\\u0045ffect":"Deny"`)],
    ['__proto__', policy(`${statement},"__proto__":{"Effect":"Deny"}`)],
    ['constructor', policy(`${statement},"constructor":{}`)],
    ['__proto__ among the conditions', policy(`${statement},"Condition":{"__proto__":{"a":"b"}}`)],
    ['half a character', policy(statement.replace('svc:GetObject', '\\ud800'))],
    ['a number that is none', policy(`${statement},"Sid":NaN`)],
    ['a comma too many', policy(`${statement},`)],
    ['20,481 bytes', policy(statement) + ' '.repeat(20_481 - good.length)],
  ] as const) {
    const answer = await at.put(text)
    assert.deepEqual([answer.status, answer.code()], [400, 'MalformedPolicy'], what)
  }
  assert.equal((await at.get()).body.toString(), good)
})

inEither('A67: fifty wildcards against a long key do not stall a request', async client => {
  const bucket = await makeBucket(client, BUCKET)
  const key = `/${'a'.repeat(1_000)}`
  await put(client, bucket, key)
  const stars = (end: string): string =>
    JSON.stringify({
      Version: '2012-10-17',
      Statement: Array.from({ length: 50 }, () => ({
        Effect: 'Allow',
        Principal: { SVC: OTHER.accountId },
        Action: 'svc:GetObject',
        Resource: `arn:svc:svc:::${bucket}/${'*a'.repeat(50)}${end}`,
      })),
    })
  const at = documentsOf(client, bucket, 'policy')
  for (const [end, status] of [
    ['*b', 403],
    ['*', 200],
  ] as const) {
    assert.equal((await at.put(stars(end))).status, 204)
    assert.equal((await client.send({ method: 'GET', bucket, path: key, as: OTHER })).status, status)
  }
})

inEither('A68: a list of more than 10,000 parts is refused, and the upload stays open', async client => {
  const bucket = await makeBucket(client, BUCKET)
  const place = await begin(client, bucket, '/k')
  const one = await part(client, place, 1, 'x')
  const entry = (number: number): string => `<Part><PartNumber>${number}</PartNumber><ETag>${one.etag}</ETag></Part>`
  const entries = (count: number): string => Array.from({ length: count }, (_, i) => entry(i + 1)).join('')
  const list = (count: number): string => `<CompleteMultipartUpload>${entries(count)}</CompleteMultipartUpload>`
  const path = `/k?uploadId=${place.id}`
  const finish = (body: string, as = MAIN): Promise<Received> => client.send({ method: 'POST', bucket, path, body, as })
  // All ten thousand possible parts are read, and the second one was never sent.
  assert.equal(outcome(await finish(list(10_000))), '400 InvalidPart')
  const over = await finish(list(10_001))
  assert.equal(over.status, 400)
  assert(['InvalidArgument', 'InvalidRequest', 'MalformedXML'].includes(over.code()), over.code())
  assert.equal(outcome(await finish(list(1), OTHER)), '403 AccessDenied')
  assert.equal(outcome(await finish(list(1))), '200')
})

inEither('A69: hostile multipart framing is refused', async client => {
  const bucket = await makeBucket(client, BUCKET)
  const fields = fieldsOf(client, [['key', 'k']])
  const whole = formBody(fields, Buffer.from('posted'))
  const many = Array.from({ length: 100_000 }, (_, i): Pair => [`x-ignore-${i}`, ''])
  const nested = [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="key"\r\nContent-Type: multipart/mixed; boundary=in\r\n\r\n`,
    '--in\r\nContent-Disposition: file; filename="a"\r\n\r\nx\r\n--in--\r\n',
  ].join('')
  const tooMany = ['400 MalformedPOSTRequest', '400 MaxPostPreDataLengthExceededError']
  for (const [what, body, type, wanted] of [
    ['no boundary', whole, 'multipart/form-data', ['400 MalformedPOSTRequest']],
    ['an empty boundary', whole, 'multipart/form-data; boundary=""', ['400 MalformedPOSTRequest']],
    ['a long boundary', whole, `multipart/form-data; boundary=${'b'.repeat(10_000)}`, ['400 MalformedPOSTRequest']],
    ['100,000 fields', formBody([...many, ...fields], Buffer.from('x')), FORM_TYPE[1], tooMany],
    [
      'a form in a field',
      Buffer.concat([Buffer.from(nested), whole]),
      FORM_TYPE[1],
      ['400 InvalidArgument', '403 AccessDenied'],
    ],
    ['a head without end', Buffer.from(`--${BOUNDARY}\r\n${'a: b\r\n'.repeat(50_000)}`), FORM_TYPE[1], tooMany],
    ['a boundary that never comes', Buffer.alloc(100_000, '\r\n--'), FORM_TYPE[1], tooMany],
  ] as const) {
    const answer = await postBody(client, body, type)
    assert((wanted as readonly string[]).includes(outcome(answer)), `${what}: ${outcome(answer)}`)
  }
  // The file of a refused form is not read, however long it is: the response is sent and the connection closes.
  const forged = fields.map(([name, value]): Pair => [name, name.endsWith('signature') ? 'f'.repeat(64) : value])
  const refused = await postBody(client, formBody(forged, Buffer.alloc(2 ** 22)))
  assert.equal(outcome(refused), '403 SignatureDoesNotMatch')
  const { length } = (await get(client, bucket, '/?list-type=2'))
    .xml()
    .children.filter(({ name }) => name === 'Contents')
  assert.equal(length, 0)
})

const KEY = Buffer.alloc(32, 1)
const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('base64')

const trio = (key: Buffer, digest = md5(key), algorithm = 'AES256', start = ':'): Headers => [
  [`${start}server-side-encryption-customer-algorithm`, algorithm],
  [`${start}server-side-encryption-customer-key`, key.toString('base64')],
  [`${start}server-side-encryption-customer-key-md5`, digest],
]

const badKeys = (start: string): readonly (readonly [string, Headers])[] => [
  ['31 bytes', trio(Buffer.alloc(31), undefined, undefined, start)],
  ['33 bytes', trio(Buffer.alloc(33), undefined, undefined, start)],
  ['no bytes', trio(Buffer.alloc(0), undefined, undefined, start)],
  ['another digest', trio(KEY, md5(Buffer.alloc(32)), undefined, start)],
  ['no digest at all', trio(KEY, 'x', undefined, start)],
  ['another algorithm', trio(KEY, undefined, 'AES128', start)],
  ['no algorithm', trio(KEY, undefined, undefined, start).slice(1)],
  ['no key', [trio(KEY, undefined, undefined, start)[0]!, trio(KEY, undefined, undefined, start)[2]!]],
]

inBoth('A71: an invalid customer key is refused on every operation', async client => {
  const bucket = await makeBucket(client, BUCKET)
  await put(client, bucket, '/sealed', 'secret', trio(KEY))
  const upload = await begin(client, bucket, '/up', trio(KEY))
  const query = `uploadId=${upload.id}`
  const from: Headers = [[':copy-source', `/${bucket}/sealed`]]
  const sealedFrom: Headers = [...from, ...trio(KEY, undefined, undefined, ':copy-source-')]
  const attributes: Headers = [[':object-attributes', 'ETag']]
  const finish =
    '<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>'
  const before = (await get(client, bucket, '/?versions')).body.toString()
  for (const [method, path, more, start, folds, body] of [
    ['PUT', '/new', [], ':', false, 'x'],
    ['GET', '/sealed', [], ':', false, ''],
    ['HEAD', '/sealed', [], ':', false, ''],
    ['GET', '/sealed?attributes', attributes, ':', false, ''],
    ['POST', '/new?uploads', [], ':', true, ''],
    ['PUT', `/up?partNumber=1&${query}`, [], ':', false, 'x'],
    ['POST', `/up?${query}`, [], ':', true, finish],
    ['PUT', '/new', sealedFrom, ':', true, ''],
    ['PUT', '/new', from, ':copy-source-', true, ''],
    ['PUT', `/up?partNumber=1&${query}`, [...from, ...trio(KEY)], ':copy-source-', false, ''],
  ] as const) {
    for (const [what, headers] of badKeys(start)) {
      const answer = await client.send({ method, bucket, path, body, headers: [...more, ...headers] })
      const code = folds && client.dialect === 'svc' ? 'InvalidRequest' : 'InvalidArgument'
      const wanted = method === 'HEAD' ? '400' : `400 ${code}`
      assert.equal(outcome(answer), wanted, `${method} ${path} ${start}: ${what}`)
      for (const secret of [KEY.toString('base64'), md5(KEY)]) assert(!answer.body.includes(secret), what)
    }
  }
  for (const method of ['GET', 'HEAD']) {
    const send = (headers: Headers): Promise<Received> => client.send({ method, bucket, path: '/sealed', headers })
    assert.equal((await send([])).status, 400)
    assert.equal((await send(trio(Buffer.alloc(32, 2)))).status, 403)
    assert.equal((await send(trio(KEY))).status, 200)
  }
  assert.equal((await get(client, bucket, '/?versions')).body.toString(), before)
})

inBoth('A84: an unsafe redirect is refused everywhere', async client => {
  const bucket = await makeBucket(client, BUCKET)
  await put(client, bucket, '/from')
  const at = documentsOf(client, bucket, 'website')
  const folded = client.dialect === 'svc' ? 'InvalidRequest' : 'InvalidRedirectLocation'
  for (const location of [
    '//evil.example',
    '/\\evil.example',
    'javascript:alert(1)',
    'ftp://evil.example',
    'evil',
    '',
  ]) {
    const headers: Headers = [[':website-redirect-location', location]]
    const copied: Headers = [...headers, [':copy-source', `/${bucket}/from`]]
    for (const [method, path, sent, code] of [
      ['PUT', '/k', headers, 'InvalidRedirectLocation'],
      ['PUT', '/k', copied, folded],
      ['POST', '/k?uploads', headers, folded],
    ] as const) {
      assert.equal(outcome(await client.send({ method, bucket, path, headers: sent })), `400 ${code}`, location)
    }
    const x = SCHEMES[client.dialect].headerPrefix
    const posted = await post(client, [
      ['key', 'k'],
      [`${x}website-redirect-location`, location],
    ])
    assert.equal(outcome(posted), '400 InvalidRedirectLocation', location)
  }
  const site = (inside: string): string => `<WebsiteConfiguration>${inside}</WebsiteConfiguration>`
  for (const host of ['a&#13;&#10;Set-Cookie: b', '/evil.example', 'a b', 'a/b']) {
    const answer = await at.put(site(`<RedirectAllRequestsTo><HostName>${host}</HostName></RedirectAllRequestsTo>`))
    assert.equal(answer.status, 400, `${host}: ${answer.body}`)
  }
  faultIs(await at.get(), 404, 'NoSuchWebsiteConfiguration')
  assert.equal((await get(client, bucket, '/k')).status, 404)
  assert.equal(textAt((await get(client, bucket, '/?uploads')).xml(), 'Upload', 'Key'), '')
})

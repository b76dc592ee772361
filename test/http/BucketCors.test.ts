import assert from 'node:assert/strict'
import { documentSuite, documentsOf, faultIs, shown } from './bucket-documents.ts'
import { inBoth, makeBucket } from './server.ts'

const rule = (inside: string): string => `<CORSConfiguration><CORSRule>${inside}</CORSRule></CORSConfiguration>`
const ANY = '<AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod>'
const filled = (bytes: number): string => rule(ANY) + ' '.repeat(bytes - rule(ANY).length)

documentSuite('BucketCors (GetBucketCors, PutBucketCors, DeleteBucketCors)', {
  query: 'cors',
  good: rule(
    '<ID>one</ID><AllowedOrigin>http://*.example.com</AllowedOrigin><AllowedMethod>GET</AllowedMethod>' +
      '<AllowedMethod>PUT</AllowedMethod><AllowedHeader>*</AllowedHeader><ExposeHeader>ETag</ExposeHeader>' +
      '<MaxAgeSeconds>3000</MaxAgeSeconds>',
  ),
  absent: 'NoSuchCORSConfiguration',
  removable: true,
  bad: [
    ['no rules', '<CORSConfiguration/>', 'MalformedXML'],
    [
      '101 rules',
      `<CORSConfiguration>${`<CORSRule>${ANY}</CORSRule>`.repeat(101)}</CORSConfiguration>`,
      'MalformedXML',
    ],
    ['65,537 bytes', filled(65_537), 'MaxMessageLengthExceeded'],
    ['no origin', rule('<AllowedMethod>GET</AllowedMethod>'), 'MalformedXML'],
    ['no method', rule('<AllowedOrigin>*</AllowedOrigin>'), 'MalformedXML'],
    ['unknown method', rule('<AllowedOrigin>*</AllowedOrigin><AllowedMethod>PATCH</AllowedMethod>'), 'InvalidRequest'],
    ['two stars', rule('<AllowedOrigin>a*b*</AllowedOrigin><AllowedMethod>GET</AllowedMethod>'), 'InvalidRequest'],
    ['two stars in a header', rule(`${ANY}<AllowedHeader>x-*-*</AllowedHeader>`), 'InvalidRequest'],
    ['a star exposed', rule(`${ANY}<ExposeHeader>x-*</ExposeHeader>`), 'InvalidRequest'],
    ['A56: exposed CR LF', rule(`${ANY}<ExposeHeader>a&#13;&#10;Set-Cookie: x</ExposeHeader>`), 'InvalidRequest'],
    ['A56: allowed CR LF', rule(`${ANY}<AllowedHeader>a&#13;&#10;b</AllowedHeader>`), 'InvalidRequest'],
    [
      'A56: origin CR LF',
      rule('<AllowedOrigin>a&#13;&#10;b</AllowedOrigin><AllowedMethod>GET</AllowedMethod>'),
      'InvalidRequest',
    ],
    ['an age that is no number', rule(`${ANY}<MaxAgeSeconds>long</MaxAgeSeconds>`), 'MalformedXML'],
    ['an age beyond all numbers', rule(`${ANY}<MaxAgeSeconds>-99999999999</MaxAgeSeconds>`), 'MalformedXML'],
  ],
})

inBoth(
  'G20 PutBucketCors: a document has up to 64 KiB, and a longer one that is stored works',
  async (client, served) => {
    const bucket = await makeBucket(client)
    const at = documentsOf(client, bucket, 'cors')
    assert.equal((await at.put(filled(65_536))).status, 200)
    const long = rule(ANY + '<AllowedHeader>X-Long-*</AllowedHeader>'.repeat(3_000))
    faultIs(await at.put(long), 400, 'MaxMessageLengthExceeded')
    await served.parts.store.documents.put(bucket, 'cors', long)
    assert.equal(shown(await at.get()), long)
    const headers = [
      ['Origin', 'https://page.example'],
      ['Access-Control-Request-Method', 'GET'],
      ['Access-Control-Request-Headers', 'x-long-one'],
    ] as const
    assert.equal((await client.send({ method: 'OPTIONS', bucket, path: '/k', as: null, headers })).status, 200)
  },
)

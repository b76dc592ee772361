import { documentSuite } from './bucket-documents.ts'

const rule = (inside: string): string => `<CORSConfiguration><CORSRule>${inside}</CORSRule></CORSConfiguration>`
const ANY = '<AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod>'

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

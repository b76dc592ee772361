/** Documents of a bucket between their text and the forms of the console. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowingRule, corsRuleElement, readCorsRule } from '../../console/src/rules/cors-document.ts'
import type { FormReading } from '../../console/src/rules/element-reader.ts'
import { formProblem, lifecycleProblem } from '../../console/src/rules/form-problems.ts'
import {
  lifecycleRuleElement,
  NEW_LIFECYCLE_RULE,
  readLifecycleRule,
} from '../../console/src/rules/lifecycle-document.ts'
import {
  bucketTagsElement,
  encryptionElement,
  lockElement,
  loggingElement,
  readBucketTags,
  readEncryption,
  readLock,
  readLogging,
  readWebsite,
  websiteElement,
} from '../../console/src/rules/small-documents.ts'
import { parseXmlText, type XmlElement, xmlText } from '../../console/src/rules/xml-text.ts'
import { lifecycleSentences } from '../../console/src/texts/lifecycle-sentences.ts'
import { parseXml } from '../../src/lib/xml-reader.ts'
import { matchingRule, readCors } from '../../src/rules/documents/cors.ts'
import { readLifecycle } from '../../src/rules/documents/lifecycle.ts'
import { readLockConfiguration } from '../../src/rules/documents/settings.ts'
import { readWebsite as readWebsiteDocument } from '../../src/rules/documents/website.ts'

const flat = (text: string): string => text.replace(/>\s+</g, '><').trim()

test('a document is parsed and written with every text and attribute it has', () => {
  const table: readonly (readonly [string, string])[] = [
    ['<A/>', '<A/>'],
    ['<?xml version="1.0" encoding="UTF-8"?>\n<A>\n  <B> two </B>\n</A>', '<A><B> two </B></A>'],
    [
      '<A xmlns="http://x/"><B c=\'"d"\'>&lt;&amp;&#65;&#x1F600;</B></A>',
      '<A xmlns="http://x/"><B c="&quot;d&quot;">&lt;&amp;A😀</B></A>',
    ],
    ['<A><!-- why --><B><![CDATA[<b> & c]]></B></A>', '<A><B>&lt;b&gt; &amp; c</B></A>'],
    ['<A>a&#9;b</A>', '<A>a&#x9;b</A>'],
    ['<s:A xmlns:s="x"><s:B></s:B></s:A>', '<s:A xmlns:s="x"><s:B/></s:A>'],
  ]
  for (const [text, written] of table) {
    const once = xmlText(parseXmlText(text))
    assert.equal(flat(once), written)
    assert.equal(xmlText(parseXmlText(once)), once)
  }
})

test('a malformed document is refused with its line', () => {
  const table: readonly (readonly [string, string, number])[] = [
    ['', 'root', 1],
    ['text', 'root', 1],
    ['<A/>\n<B/>', 'root', 2],
    ['<A>\n<B>\n</A>', 'end', 3],
    ['<A>\n<B>', 'unclosed', 2],
    ['<A>\n<B/>text</A>', 'mixed', 2],
    ['<A>\n&unknown;</A>', 'entity', 1],
    ['<A>a & b</A>', 'entity', 1],
    ['<A>&#x110000;</A>', 'entity', 1],
    ['<A>\n\n<B c=d/></A>', 'token', 3],
    ['<!DOCTYPE A><A/>', 'token', 1],
  ]
  for (const [text, problem, line] of table) assert.throws(() => parseXmlText(text), { problem, line }, text)
})

interface RoundTrip {
  readonly unknown: (document: XmlElement) => readonly string[]
  readonly again: (document: XmlElement) => XmlElement
  readonly documents: readonly string[]
}

function roundTrip<Form>(
  read: (document: XmlElement) => FormReading<Form>,
  write: (form: Form) => XmlElement,
  documents: readonly string[],
): RoundTrip {
  return { unknown: document => read(document).unknown, again: document => write(read(document).form), documents }
}

/** FormReading a form and writing it again must give the same document, or say what is missing. */
const ROUND_TRIPS: Readonly<Record<string, RoundTrip>> = {
  lifecycle: roundTrip(readLifecycleRule, lifecycleRuleElement, [
    '<Rule><ID>a</ID><Filter><Prefix>logs/</Prefix></Filter><Status>Enabled</Status>' +
      '<Expiration><Days>30</Days></Expiration></Rule>',
    '<Rule><Filter><Prefix/></Filter><Status>Disabled</Status><Expiration>' +
      '<Date>2030-01-31T00:00:00Z</Date></Expiration></Rule>',
    '<Rule><Filter><And><Prefix>a b/</Prefix><Tag><Key>k</Key><Value>v</Value></Tag><Tag><Key>e</Key><Value/></Tag>' +
      '<ObjectSizeGreaterThan>10</ObjectSizeGreaterThan><ObjectSizeLessThan>99</ObjectSizeLessThan></And></Filter>' +
      '<Status>Enabled</Status><NoncurrentVersionExpiration><NoncurrentDays>7</NoncurrentDays>' +
      '<NewerNoncurrentVersions>3</NewerNoncurrentVersions></NoncurrentVersionExpiration></Rule>',
    '<Rule><Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter>' +
      '<Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule>',
    '<Rule><Filter><Prefix/></Filter><Status>Enabled</Status><Expiration>' +
      '<ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>' +
      '<AbortIncompleteMultipartUpload><DaysAfterInitiation>2</DaysAfterInitiation>' +
      '</AbortIncompleteMultipartUpload></Rule>',
  ]),
  cors: roundTrip(readCorsRule, corsRuleElement, [
    '<CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod></CORSRule>',
    '<CORSRule><ID>web</ID><AllowedOrigin>https://a.example</AllowedOrigin>' +
      '<AllowedOrigin>https://*.b.example</AllowedOrigin>' +
      '<AllowedMethod>PUT</AllowedMethod><AllowedMethod>POST</AllowedMethod><AllowedHeader>x-*</AllowedHeader>' +
      '<ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>600</MaxAgeSeconds></CORSRule>',
  ]),
  website: roundTrip(readWebsite, websiteElement, [
    '<WebsiteConfiguration><IndexDocument><Suffix>index.html</Suffix></IndexDocument></WebsiteConfiguration>',
    '<WebsiteConfiguration><RedirectAllRequestsTo><HostName>example.com</HostName>' +
      '<Protocol>https</Protocol></RedirectAllRequestsTo></WebsiteConfiguration>',
    '<WebsiteConfiguration><IndexDocument><Suffix>i</Suffix></IndexDocument>' +
      '<ErrorDocument><Key>e</Key></ErrorDocument>' +
      '<RoutingRules><RoutingRule><Redirect><ReplaceKeyWith>x</ReplaceKeyWith></Redirect>' +
      '</RoutingRule></RoutingRules></WebsiteConfiguration>',
  ]),
  encryption: roundTrip(readEncryption, encryptionElement, [
    '<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>' +
      '<SSEAlgorithm>AES256</SSEAlgorithm>' +
      '</ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>',
    '<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>' +
      '<SSEAlgorithm>aws:kms</SSEAlgorithm>' +
      '<KMSMasterKeyID>k</KMSMasterKeyID></ApplyServerSideEncryptionByDefault>' +
      '<BucketKeyEnabled>false</BucketKeyEnabled>' +
      '<BlockedEncryptionTypes><EncryptionType>SSE-C</EncryptionType>' +
      '</BlockedEncryptionTypes></Rule></ServerSideEncryptionConfiguration>',
  ]),
  logging: roundTrip(readLogging, loggingElement, [
    '<BucketLoggingStatus/>',
    '<BucketLoggingStatus><LoggingEnabled><TargetBucket>b</TargetBucket><TargetPrefix/>' +
      '</LoggingEnabled></BucketLoggingStatus>',
  ]),
  lock: roundTrip(readLock, lockElement, [
    '<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>',
    '<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule>' +
      '<DefaultRetention><Mode>COMPLIANCE</Mode>' +
      '<Years>2</Years></DefaultRetention></Rule></ObjectLockConfiguration>',
  ]),
  tags: roundTrip(readBucketTags, bucketTagsElement, [
    '<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>',
    '<Tagging><TagSet/></Tagging>',
  ]),
}

for (const [name, { unknown, again, documents }] of Object.entries(ROUND_TRIPS)) {
  test(`a form of ${name} writes the document that it was read from`, () => {
    for (const document of documents) {
      assert.deepEqual(unknown(parseXmlText(document)), [])
      assert.equal(flat(xmlText(again(parseXmlText(document)))), document)
    }
  })
}

test('a form names the elements that it cannot show', () => {
  const rule = (inside: string): string => `<Rule><Filter/><Status>Enabled</Status>${inside}</Rule>`
  const table: readonly (readonly [(document: XmlElement) => FormReading<unknown>, string, readonly string[]])[] = [
    [readLifecycleRule, rule('<Transition><Days>1</Days></Transition>'), ['Transition']],
    [readLifecycleRule, rule('<Expiration><Date>2030-01-01T12:00:00Z</Date></Expiration>'), ['Date']],
    [readLifecycleRule, rule('<Expiration><Days>1</Days><New/></Expiration>'), ['New', 'Expiration']],
    [readLifecycleRule, '<Rule><Filter/><Status>Paused</Status></Rule>', ['Status']],
    [readCorsRule, '<CORSRule><AllowedMethod>PATCH</AllowedMethod></CORSRule>', ['AllowedMethod']],
    [readCorsRule, '<CORSRule><ID>a</ID><ID>b</ID></CORSRule>', ['ID']],
    [
      readLogging,
      '<BucketLoggingStatus><LoggingEnabled><TargetGrants/></LoggingEnabled></BucketLoggingStatus>',
      ['TargetGrants'],
    ],
    [
      readLock,
      '<ObjectLockConfiguration><ObjectLockEnabled a="b">Enabled</ObjectLockEnabled></ObjectLockConfiguration>',
      ['a'],
    ],
    [
      readEncryption,
      '<X><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>ROT13</SSEAlgorithm>' +
        '</ApplyServerSideEncryptionByDefault></Rule></X>',
      ['SSEAlgorithm'],
    ],
  ]
  for (const [read, document, unknown] of table) assert.deepEqual(read(parseXmlText(document)).unknown, unknown)
})

const CORS = `<CORSConfiguration>
  <CORSRule><AllowedOrigin>https://app.example</AllowedOrigin><AllowedMethod>PUT</AllowedMethod>
    <AllowedHeader>X-*</AllowedHeader></CORSRule>
  <CORSRule><AllowedOrigin>https://*.example</AllowedOrigin><AllowedMethod>GET</AllowedMethod></CORSRule>
  <CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>HEAD</AllowedMethod>
    <AllowedHeader>*</AllowedHeader></CORSRule>
</CORSConfiguration>`

test('the check of CORS rules chooses the rule that the server chooses', () => {
  const rules = readCors(parseXml(CORS))
  const forms = parseXmlText(CORS).children.map(rule => readCorsRule(rule).form)
  const table: readonly (readonly [string, string, string[], number])[] = [
    ['https://app.example', 'PUT', [], 0],
    ['https://app.example', 'PUT', ['x-amz-meta-a'], 0],
    ['https://app.example', 'PUT', ['content-type'], -1],
    ['https://app.example', 'GET', [], 1],
    ['https://a.b.example', 'GET', [], 1],
    ['https://example', 'GET', [], -1],
    ['http://app.example', 'GET', [], -1],
    ['null', 'HEAD', ['authorization'], 2],
    ['https://app.example', 'DELETE', [], -1],
  ]
  for (const [origin, method, headers, expected] of table) {
    const found = matchingRule(rules, { origin, method, headers })
    assert.equal(found === undefined ? -1 : rules.indexOf(found.rule), expected)
    assert.equal(allowingRule(forms, { origin, method, headers }), expected)
  }
})

test('a lifecycle rule is told in sentences', () => {
  const filter =
    '<Filter><And><Prefix>logs/</Prefix><Tag><Key>env</Key><Value>dev</Value></Tag>' +
    '<ObjectSizeGreaterThan>1048576</ObjectSizeGreaterThan></And></Filter>'
  const table: readonly (readonly [string, readonly string[]])[] = [
    [
      '<Filter><Prefix/></Filter><Expiration><Days>1</Days></Expiration>',
      ['Delete all objects 1 day after they were written.'],
    ],
    [
      `${filter}<Expiration><Date>2030-01-31T00:00:00Z</Date></Expiration>`,
      ['Delete objects under logs/, tagged env=dev, larger than 1.0 MiB on 2030-01-31.'],
    ],
    [
      '<Prefix>logs/</Prefix><NoncurrentVersionExpiration>' +
        '<NoncurrentDays>30</NoncurrentDays>' +
        '<NewerNoncurrentVersions>3</NewerNoncurrentVersions></NoncurrentVersionExpiration>',
      ['Delete noncurrent versions under logs/ 30 days after they were replaced, but keep the newest 3.'],
    ],
    [
      '<Filter/><NoncurrentVersionExpiration>' +
        '<NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionExpiration>' +
        '<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation>' +
        '</AbortIncompleteMultipartUpload>',
      [
        'Delete all noncurrent versions as soon as they are replaced, but keep the newest 1.',
        'Abort all unfinished uploads 7 days after they began.',
      ],
    ],
    [
      '<Filter/><Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>',
      ['Remove all delete markers that have no version left.'],
    ],
    ['<Filter/>', []],
  ]
  for (const [inside, sentences] of table) {
    const { form } = readLifecycleRule(parseXmlText(`<Rule><Status>Enabled</Status>${inside}</Rule>`))
    assert.deepEqual(lifecycleSentences(form), sentences)
  }
})

const isAccepted = (read: () => unknown): boolean => {
  try {
    read()
    return true
  } catch {
    return false
  }
}

test('a form finds wrong exactly what the server would refuse', () => {
  for (const [unit, period] of [
    ...['', '0', '1', '-1', '1.5', '36500', '36501'].map(text => ['Days', text] as const),
    ...['1', '100', '101'].map(text => ['Years', text] as const),
  ]) {
    const root = lockElement({ mode: 'GOVERNANCE', unit, period })
    const accepted = isAccepted(() => readLockConfiguration(parseXml(xmlText(root))))
    assert.equal(formProblem('lock', root) === undefined, accepted, `${period} ${unit}`)
  }
  const site = { kind: 'pages', index: 'index.html', error: '', hostName: '', protocol: '', routing: [] } as const
  for (const change of [
    {},
    { index: '' },
    { index: 'a/b' },
    ...['', 'www.example.com', 'localhost:80', 'https://example.com', 'example.com/a', 'a b'].map(hostName => ({
      kind: 'redirect' as const,
      hostName,
    })),
  ]) {
    const root = websiteElement({ ...site, ...change })
    const accepted = isAccepted(() => readWebsiteDocument(parseXml(xmlText(root))))
    assert.equal(formProblem('website', root) === undefined, accepted, JSON.stringify(change))
  }
  for (const change of [
    {},
    ...['', '0', '-1', '1.5', '7'].map(days => ({ days })),
    { expiry: 'date' as const },
    { expiry: 'date' as const, date: '2030-12-31' },
    { expiry: 'never' as const },
    { expiry: 'markers' as const, largerThan: '5' },
    { largerThan: '5', smallerThan: '5' },
    { largerThan: '5', smallerThan: '6' },
    { abortDays: '0' },
    { abortDays: '3' },
    { abortDays: '3', tags: [['a', 'b']] as const },
    { hasNoncurrent: true, noncurrentDays: '' },
    ...['0', '1', '100', '101'].map(keepNewest => ({ hasNoncurrent: true, keepNewest })),
  ]) {
    const form = { ...NEW_LIFECYCLE_RULE, ...change }
    const text = `<LifecycleConfiguration>${xmlText(lifecycleRuleElement(form))}</LifecycleConfiguration>`
    const accepted = isAccepted(() => readLifecycle(parseXml(text)))
    assert.equal(lifecycleProblem(form) === undefined, accepted, JSON.stringify(change))
  }
})

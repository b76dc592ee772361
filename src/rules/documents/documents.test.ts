import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseXml } from '../../lib/xml-reader.ts'
import { type CorsRule, matchingRule, readCors } from './cors.ts'
import { encryptionDocument, readBucketEncryption } from './encryption.ts'
import { readLifecycle } from './lifecycle.ts'
import { lockDocument, readLockConfiguration } from './settings.ts'
import { documentFromTree, documentText } from './tree.ts'
import { readWebsite } from './website.ts'

const cors = (inside: string): CorsRule[] =>
  readCors(parseXml(`<CORSConfiguration><CORSRule>${inside}</CORSRule></CORSConfiguration>`))

test('G16 CORS: one star stands for anything, headers in any case, methods exactly', () => {
  const rules = cors(
    '<AllowedOrigin>https://*.example.com</AllowedOrigin><AllowedMethod>GET</AllowedMethod>' +
      '<AllowedHeader>X-Own-*</AllowedHeader>',
  )
  for (const [origin, method, headers, matches] of [
    ['https://a.example.com', 'GET', [], true],
    ['https://a.b.example.com', 'GET', ['x-own-one'], true],
    ['https://.example.com', 'GET', [], true],
    ['https://example.com', 'GET', [], false],
    ['https://a.example.com.evil', 'GET', [], false],
    ['https://a.example.com', 'get', [], false],
    ['https://a.example.com', 'PUT', [], false],
    ['https://a.example.com', 'GET', ['x-own-one', 'range'], false],
    ['https://a\r\nb.example.com', 'GET', [], false],
    ['https://a.example.com', 'GET', ['x-own-\r\n'], false],
  ] as const) {
    const found = matchingRule(rules, { origin, method, headers })
    assert.equal(found !== undefined, matches, `${origin} ${method} ${headers.join()}`)
  }
})

test('G16 CORS: the first rule that matches decides', () => {
  const [first] = cors('<AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod>')
  const [second] = cors('<AllowedOrigin>https://a.b</AllowedOrigin><AllowedMethod>GET</AllowedMethod>')
  const request = { origin: 'https://a.b', method: 'GET', headers: [] }
  assert.equal(matchingRule([first!, second!], request)?.anyOrigin, true)
  assert.equal(matchingRule([second!, first!], request)?.anyOrigin, false)
})

test('R22: a stored encryption configuration is read back as it was parsed', () => {
  for (const algorithm of ['AES256', 'verenc', 'aws:kms', 'aws:kms:dsse']) {
    const read = readBucketEncryption(
      parseXml(
        '<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>' +
          `${algorithm}</SSEAlgorithm></ApplyServerSideEncryptionByDefault><BucketKeyEnabled>true</BucketKeyEnabled>` +
          '</Rule></ServerSideEncryptionConfiguration>',
      ),
    )
    assert.equal(read.algorithm, algorithm === 'AES256' ? 'AES256' : 'verenc')
    assert.deepEqual(readBucketEncryption(parseXml(documentText(encryptionDocument(read)))), read)
  }
})

test('G19: retention in days and in years is shown as it was given', () => {
  for (const period of ['<Days>730</Days>', '<Years>2</Years>']) {
    const text =
      '<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention>' +
      `<Mode>COMPLIANCE</Mode>${period}</DefaultRetention></Rule></ObjectLockConfiguration>`
    const read = readLockConfiguration(parseXml(text))
    assert.equal(read?.days, 730)
    assert.equal(documentText(lockDocument(read)), text)
  }
})

test('G17 Website: both forms', () => {
  assert.deepEqual(
    readWebsite(
      parseXml(
        '<WebsiteConfiguration><RedirectAllRequestsTo><HostName>example.com</HostName><Protocol>https</Protocol>' +
          '</RedirectAllRequestsTo></WebsiteConfiguration>',
      ),
    ),
    { kind: 'redirect', hostName: 'example.com', protocol: 'https' },
  )
  const pages = readWebsite(
    parseXml(
      '<WebsiteConfiguration><IndexDocument><Suffix>i</Suffix></IndexDocument><RoutingRules><RoutingRule><Condition>' +
        '<HttpErrorCodeReturnedEquals>404</HttpErrorCodeReturnedEquals></Condition><Redirect><ReplaceKeyWith>x' +
        '</ReplaceKeyWith></Redirect></RoutingRule></RoutingRules></WebsiteConfiguration>',
    ),
  )
  assert(pages.kind === 'pages')
  const [rule] = pages.rules
  assert.deepEqual([rule?.errorStatus, rule?.redirect.status, rule?.redirect.replaceKeyWith], [404, 301, 'x'])
})

test('R12: a lifecycle rule keeps the name that was made for it', () => {
  const text =
    '<LifecycleConfiguration><Rule><Status>Enabled</Status><Prefix/><Expiration><Days>1</Days></Expiration></Rule>' +
    '</LifecycleConfiguration>'
  const [first] = readLifecycle(parseXml(text))
  const [again] = readLifecycle(parseXml(text))
  assert.equal(first?.id, again?.id)
})

test('R1: a document written again has its elements, without namespaces and layout', () => {
  const text = '<a xmlns="urn:x">\n  <b> kept </b>\n  <c x="1"><d>&lt;&amp;</d></c>\n</a>'
  assert.equal(documentText(documentFromTree(parseXml(text))), '<a><b> kept </b><c><d>&lt;&amp;</d></c></a>')
})

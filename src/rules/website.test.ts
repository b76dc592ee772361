import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseXml } from '../lib/xml-reader.ts'
import { readWebsite, type Website } from './documents/website.ts'
import {
  folderIndex,
  objectRedirect,
  type Pages,
  pageKey,
  redirectBeforeLookup,
  redirectOnError,
  redirectToFolder,
} from './website.ts'

const site = (inside: string): Website =>
  readWebsite(parseXml(`<WebsiteConfiguration>${inside}</WebsiteConfiguration>`))
const INDEX = '<IndexDocument><Suffix>index.html</Suffix></IndexDocument>'
const pages = (...rules: string[]): Pages => site(`${INDEX}<RoutingRules>${rules.join('')}</RoutingRules>`) as Pages
const rule = (condition: string, redirect: string): string =>
  `<RoutingRule>${condition === '' ? '' : `<Condition>${condition}</Condition>`}` +
  `<Redirect>${redirect}</Redirect></RoutingRule>`
const prefix = (text: string): string => `<KeyPrefixEquals>${text}</KeyPrefixEquals>`
const error = (status: number): string => `<HttpErrorCodeReturnedEquals>${status}</HttpErrorCodeReturnedEquals>`
const asked = (key: string, query = '') => ({ key, scheme: 'http', host: 'site.example:9000', query }) as const

test('R12: RedirectAllRequestsTo uses its protocol, or that of the request', () => {
  const to = (protocol: string) =>
    site(`<RedirectAllRequestsTo><HostName>new.example</HostName>${protocol}</RedirectAllRequestsTo>`)
  assert.deepEqual(redirectBeforeLookup(to(''), asked('a b/ü')), {
    status: 301,
    location: 'http://new.example/a%20b/%C3%BC',
  })
  const secure = redirectBeforeLookup(to('<Protocol>https</Protocol>'), asked(''))
  assert.equal(secure?.location, 'https://new.example/')
})

test('routing rules on prefixes apply before the lookup, rules on errors only after it', () => {
  const rules = pages(
    rule(prefix('docs/') + error(404), '<ReplaceKeyWith>gone.html</ReplaceKeyWith>'),
    rule(prefix('docs/'), '<ReplaceKeyPrefixWith>documents/</ReplaceKeyPrefixWith>'),
    rule(prefix('docs/'), '<ReplaceKeyWith>never</ReplaceKeyWith>'),
    rule(
      prefix('img/'),
      '<HostName>img.example</HostName><Protocol>https</Protocol><HttpRedirectCode>307</HttpRedirectCode>',
    ),
    rule(error(404), '<ReplaceKeyWith>missing.html</ReplaceKeyWith><HttpRedirectCode>302</HttpRedirectCode>'),
    rule(error(403), '<ReplaceKeyPrefixWith>#!/</ReplaceKeyPrefixWith>'),
  )
  for (const [key, location] of [
    ['docs/a', 'http://site.example:9000/documents/a'],
    ['docs/', 'http://site.example:9000/documents/'],
    ['img/x.png', 'https://img.example/img/x.png'],
    ['other', undefined],
    ['', undefined],
  ] as const) {
    assert.equal(redirectBeforeLookup(rules, asked(key))?.location, location, key)
  }
  assert.equal(redirectBeforeLookup(rules, asked('img/x'))?.status, 307)
  for (const [key, status, location] of [
    ['docs/a', 404, 'http://site.example:9000/gone.html'],
    ['other', 404, 'http://site.example:9000/missing.html'],
    ['other', 403, 'http://site.example:9000/%23!/other'],
    ['other', 500, undefined],
  ] as const) {
    assert.equal(redirectOnError(rules, asked(key), status)?.location, location, `${key} ${status}`)
  }
  const always = pages(rule('', '<HostName>a.example</HostName>'))
  assert.equal(redirectBeforeLookup(always, asked('x'))?.location, 'http://a.example/x')
})

test('a path that ends in a slash is its index document', () => {
  const plain = pages()
  for (const [key, page] of [
    ['', 'index.html'],
    ['a/', 'a/index.html'],
    ['a', 'a'],
    ['a/b/', 'a/b/index.html'],
  ] as const) {
    assert.equal(pageKey(plain, key), page)
  }
  assert.equal(folderIndex(plain, 'a'), 'a/index.html')
  assert.deepEqual(redirectToFolder(asked('a b')), { status: 302, location: '/a%20b/' })
})

test('A84: no key produces a Location on another host or with a line break', () => {
  const rules = pages(rule('', '<ReplaceKeyPrefixWith></ReplaceKeyPrefixWith>'))
  const keys = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1 }),
    fc.constantFrom(
      '/evil.example',
      '//evil.example',
      '\\evil.example',
      '/\\evil.example',
      '\r\nSet-Cookie: a',
      '@evil',
    ),
  )
  fc.assert(
    fc.property(keys, key => {
      for (const location of [
        redirectToFolder(asked(key)).location,
        redirectBeforeLookup(rules, asked(key))!.location,
      ]) {
        assert.match(location, /^[\x21-\x7e]*$/)
        assert.equal(new URL(location, 'http://site.example:9000').host, 'site.example:9000', location)
      }
    }),
  )
  assert.equal(objectRedirect('/ä b\u0001').location, '/%C3%A4%20b%01')
})

test("R12: a redirect keeps the visitor's query and cannot inject a header", () => {
  const elsewhere = site('<RedirectAllRequestsTo><HostName>new.example</HostName></RedirectAllRequestsTo>')
  assert.equal(redirectBeforeLookup(elsewhere, asked('a', 'b=c&d'))?.location, 'http://new.example/a?b=c&d')
  assert.equal(redirectBeforeLookup(elsewhere, asked('a', 'x y\u00fc'))?.location, 'http://new.example/a?x%20y%C3%BC')
  const rules = pages(rule(prefix('old/'), '<ReplaceKeyPrefixWith>new/</ReplaceKeyPrefixWith>'))
  assert.equal(redirectBeforeLookup(rules, asked('old/k', 'q'))?.location, 'http://site.example:9000/new/k?q')
  const gone = pages(rule(error(404), '<ReplaceKeyWith>gone</ReplaceKeyWith>'))
  assert.equal(redirectOnError(gone, asked('k', 'q'), 404)?.location, 'http://site.example:9000/gone?q')
  assert.equal(redirectToFolder(asked('a', 'q')).location, '/a/?q')
})

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import type { RawRequest } from '../http/raw-request.ts'
import { authenticate } from './authenticate.ts'
import { signRequest } from './sign-request.ts'
import {
  canonicalFields,
  canonicalPairs,
  decodeCanonical,
  escapedPath,
  hmac,
  SCHEMES,
  SigningKey,
  sameSignature,
  scopeOf,
  sha256Hex,
  signingKey,
} from './signing.ts'
import { BOTH, credential, presigned, REGION, server, sha, signed } from './suite-signer.ts'

const request = (target: string, headers: RawRequest['headers'] = []): RawRequest => ({
  method: 'GET',
  target,
  headers,
})

const queryOf = (query: string): string =>
  canonicalPairs(query)
    .map(({ name, value }) => `${name}=${value}`)
    .join('&')

test('A21: unescaped bytes of a path are escaped, existing escapes are kept', () => {
  const cases = {
    '/a%2Fb': '/a%2Fb',
    '/a%2fb': '/a%2fb',
    '/a/../b': '/a/../b',
    '//a//': '//a//',
    '/%252e': '/%252e',
    '/%2e': '/%2e',
    '/a+b': '/a%2Bb',
    '/a%20b': '/a%20b',
    '/%c3%a4': '/%c3%a4',
    '/\u00e4': '/%E4',
    "/!'()*:@$&=,;[]": '/%21%27%28%29%2A%3A%40%24%26%3D%2C%3B%5B%5D',
    '/%': '/%',
  }
  for (const [sent, expected] of Object.entries(cases)) assert.equal(escapedPath(sent), expected, sent)
})

test('A21: the query is decoded once and encoded again', () => {
  const cases = {
    'a=b+c': 'a=b%2Bc',
    'a=b%2Bc': 'a=b%2Bc',
    'a=b%20c': 'a=b%20c',
    'a=b%2fc': 'a=b%2Fc',
    'a=b/c': 'a=b%2Fc',
    'a=%252e': 'a=%252e',
    'a=%2e%7E%2D%5f': 'a=.~-_',
    "a=!'()*": 'a=%21%27%28%29%2A',
    'a=b=c': 'a=b%3Dc',
    'a=%': 'a=%25',
    'a=%zz': 'a=%25zz',
    'a=\u00e4': 'a=%E4',
    'a=%C3%A4': 'a=%C3%A4',
    'acl&': 'acl=',
    acl: 'acl=',
    'acl=': 'acl=',
    '&&b&a': 'a=&b=',
    'a=%00': 'a=%00',
  }
  for (const [sent, expected] of Object.entries(cases)) assert.equal(queryOf(sent), expected, sent)
})

test('the query is sorted by encoded name and then by encoded value', () => {
  assert.equal(queryOf('b=1&a=2&a=1&a=10&B=0'), 'B=0&a=1&a=10&a=2&b=1')
  // An equals sign would sort after the hyphen; names are compared without it.
  assert.equal(queryOf('a-b=1&a=2'), 'a=2&a-b=1')
  // Encoded, a slash sorts before the letters and a tilde after them.
  assert.equal(queryOf('a=z&a=/&a=~'), 'a=%2F&a=z&a=~')
})

test('any query comes out the same, however it was encoded', () => {
  const bytes = fc.uint8Array({ maxLength: 12 })
  fc.assert(
    fc.property(fc.array(fc.tuple(bytes, bytes)), fc.infiniteStream(fc.boolean()), (pairs, coin) => {
      const raw = (data: Uint8Array): string =>
        Array.from(data, byte => {
          const character = String.fromCharCode(byte)
          const hex = byte.toString(16).padStart(2, '0')
          if (/[A-Za-z0-9\-._~]/.test(character) && coin.next().value) return character
          return `%${coin.next().value ? hex : hex.toUpperCase()}`
        }).join('')
      const strict = (data: Uint8Array): string =>
        Array.from(data, byte => {
          const character = String.fromCharCode(byte)
          if (/[A-Za-z0-9\-._~]/.test(character)) return character
          return `%${byte.toString(16).padStart(2, '0').toUpperCase()}`
        }).join('')
      const named = pairs.filter(([name]) => name.length > 0)
      const sent = named.map(([name, value]) => `${raw(name)}=${raw(value)}`).join('&')
      const plain = named.map(([name, value]) => `${strict(name)}=${strict(value)}`).join('&')
      assert.equal(queryOf(sent), queryOf(plain))
      const decoded = canonicalPairs(sent).map(
        ({ name, value }) => `${decodeCanonical(name)}=${decodeCanonical(value)}`,
      )
      const expected = named.map(both => both.map(data => Buffer.from(data).toString('latin1')).join('='))
      assert.deepEqual(decoded.sort(), expected.sort())
    }),
    { numRuns: 200 },
  )
})

test('query: each byte has one canonical spelling, whichever way it was escaped', () => {
  for (let byte = 1; byte < 256; byte++) {
    const [character, hex] = [String.fromCharCode(byte), byte.toString(16).padStart(2, '0')]
    const canonical = /[A-Za-z0-9\-._~]/.test(character) ? character : `%${hex.toUpperCase()}`
    for (const sent of [`%${hex}`, `%${hex.toUpperCase()}`]) {
      assert.deepEqual(canonicalPairs(`a=${sent}`), [{ name: 'a', value: canonical }])
    }
    assert.equal(decodeCanonical(canonical), character)
  }
})

test('headers: trimmed, inner runs of space and tab single, repeated names joined in order', () => {
  const fields = canonicalFields(
    request('/', [
      ['Host', '  a  b\t c '],
      ['X-Two', 'one '],
      ['x-two', ' \t'],
      ['X-TWO', 'two'],
      ['Empty', ''],
      ['__proto__', 'x'],
    ]),
  )
  assert.deepEqual(
    [...fields],
    [
      ['host', 'a b c'],
      ['x-two', 'one,,two'],
      ['empty', ''],
      ['__proto__', 'x'],
    ],
  )
})

test('headers: a byte that looks like white space in latin1 is not white space', () => {
  // UTF-8 of "à" ends in 0xa0, which latin1 text shows as a no-break space.
  const value = Buffer.from('voilà').toString('latin1')
  assert.equal(canonicalFields(request('/', [['a', value]])).get('a'), value)
})

test('A21: odd but honestly signed requests are accepted, in both forms', async () => {
  const targets = ['/a%2Fb', '/%252e', '/a+b', '/?acl', '/?a=&a=1&a=', '/a//b/../c?prefix=a%2fb&x=%7e', '/?q=b%2Bc']
  for (const scheme of BOTH) {
    for (const target of targets) {
      for (const what of [signed(scheme, { target }), presigned(scheme, { target })]) {
        assert.equal((await authenticate(what, server(scheme))).caller.kind, 'account', what.target)
      }
    }
    const headers = [['~meta-a', Buffer.from(' voilà  été ').toString('latin1')] as const, ['~meta-a', 'b'] as const]
    assert.equal((await authenticate(signed(scheme, { headers }), server(scheme))).caller.kind, 'account')
  }
})

test('G3: the signing key of the vectors', () => {
  const scope = scopeOf(SCHEMES.svc, '20130524', REGION)
  assert.equal(scope.text, '20130524/us-east-1/svc/svc4_request')
  assert.equal(
    signingKey(SCHEMES.svc, credential, scope).bytes.toString('hex'),
    '2ce05848caf7fe1d36c0f7042b414de8a752ac79861e918b494e089161434738',
  )
})

test('a key is derived once per day, region, service and secret', () => {
  const scope = scopeOf(SCHEMES.svc, '20130525', REGION)
  const first = signingKey(SCHEMES.svc, credential, scope)
  assert.equal(signingKey(SCHEMES.svc, credential, scope), first)
  const others = [
    signingKey(SCHEMES.svc, { ...credential, secretKey: 'other' }, scope),
    signingKey(SCHEMES.svc, credential, scopeOf(SCHEMES.svc, '20130526', REGION)),
    signingKey(SCHEMES.svc, credential, scopeOf(SCHEMES.svc, '20130525', 'elsewhere')),
    signingKey(SCHEMES.s3, credential, scopeOf(SCHEMES.s3, '20130525', REGION)),
    first,
  ]
  assert.equal(new Set(others.map(key => key.bytes.toString('hex'))).size, others.length)
  assert.deepEqual(signingKey(SCHEMES.svc, credential, scope), first)
})

test('the keys kept are bounded: the oldest goes', () => {
  const scope = scopeOf(SCHEMES.svc, '20130527', REGION)
  const first = signingKey(SCHEMES.svc, credential, scope)
  for (let i = 0; i < 4096; i++) signingKey(SCHEMES.svc, { ...credential, accessKey: `key ${i}` }, scope)
  const again = signingKey(SCHEMES.svc, credential, scope)
  assert.notEqual(again, first, 'still the same buffer: nothing was let go')
  assert.deepEqual(again, first)
})

test('a signature is the HMAC of its text, whatever the key and however long the text', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.string({ maxLength: 5000 }), (bytes, text) => {
      const expected = createHmac('sha256', bytes).update(text).digest('hex')
      assert.equal(hmac(new SigningKey(Buffer.from(bytes)), text), expected)
    }),
  )
})

test('text is hashed as the bytes it stands for', () => {
  for (const text of ['', 'plain', 'v\u00e4lue \u00ff']) assert.equal(sha256Hex(text), sha(text))
})

test('A19: only 64 lower-case digits can be a signature', () => {
  const right = 'ab'.repeat(32)
  assert(sameSignature(right, 'ab'.repeat(32)))
  for (const wrong of [
    '',
    'ab',
    'AB'.repeat(32),
    'ab'.repeat(33),
    `${'ab'.repeat(32)}\n`,
    'zz'.repeat(32),
    'ac'.repeat(32),
    // The low byte of this character is a b.
    `${'ab'.repeat(31)}a\u0162`,
  ]) {
    assert(!sameSignature(right, wrong), wrong)
  }
})

/** The sources of this folder, as written or as built. */
const here = dirname(fileURLToPath(import.meta.url))
const sources = readdirSync(here)
  .sort()
  .filter(name => /\.(ts|js)$/.test(name) && !/\.d\.ts$|\.test\.|^suite/.test(name))
  .map(name => [name, readFileSync(join(here, name), 'utf8')] as const)

test('A20: signatures are compared in one place, digest against digest, in constant time', () => {
  const signing = sources.find(([name]) => /^signing\./.test(name))?.[1] ?? ''
  assert.match(signing, /return timingSafeEqual\(ours, theirs\)/)
  // Both buffers hold 64 digits by now: remains of an earlier signature never count.
  assert.equal(sameSignature('0'.repeat(64), '0'.repeat(64)), true)
  assert.equal(sameSignature('1'.repeat(64), '0'.repeat(64)), false)
  assert.throws(() => sameSignature('0'.repeat(62), '0'.repeat(64)))
  // One file makes signatures, as a client does; all others compare them.
  const comparing = sources.filter(
    ([name, text]) => /\bhmac\(/.test(text) && !/export function hmac/.test(text) && !name.startsWith('sign-request'),
  )
  assert.deepEqual(
    comparing.map(([name]) => name.replace(/\.\w+$/, '')),
    ['authenticate', 'chunk-signatures', 'post-policy'],
  )
  for (const [name, text] of comparing) assert.match(text, /if \(!sameSignature\(hmac\(/, name)
  for (const [name, text] of sources) {
    const plain = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    assert.doesNotMatch(plain, /[sS]ignature\s*(?:[!=]==|[!=]=(?!=))(?!\s*undefined)/, name)
    assert.doesNotMatch(plain, /\bhmac\([^\n]*\)\s*(\.equals\(|[!=]==?)/, name)
  }
})

test('a request that was signed here has other fields than before', () => {
  const key = { accessKey: 'AK', secretKey: 'secret' }
  const unsigned = request('/bucket/key', [['host', 'example.com']])
  const whole = signRequest(SCHEMES.s3, unsigned, { key, region: REGION, contentHash: sha(''), now: 0 })
  assert.equal(canonicalFields(whole).has('authorization'), true)
})

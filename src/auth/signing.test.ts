import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { SCHEMES } from './schemes.ts'
import { hmac, SigningKey, sameSignature, scopeOf, sha256Hex, signingKey } from './signing.ts'
import { credential, REGION, sha } from './suite-signer.ts'

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

/** A presigned query from the cache is what parsing it anew gives. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cachedQuerySignature, isPresigned, oldQuerySignature, parseQuerySignature } from './presigned-signature.ts'
import { canonicalPairs, queryIn, SCHEMES } from './signing.ts'

const DIGITS = '0123456789abcdef'.repeat(4)
const USUAL = [
  'X-Amz-Algorithm=AWS4-HMAC-SHA256',
  'X-Amz-Credential=AK%2F20260101%2Fus-east-1%2Fs3%2Faws4_request',
  'X-Amz-Date=20260101T000000Z',
  'X-Amz-Expires=100',
  'X-Amz-SignedHeaders=host',
  `X-Amz-Signature=${DIGITS}`,
]
const ODD = [
  '',
  'a=b+c',
  'x-id=GetObject',
  `aX-Amz-Signature=${DIGITS}`,
  `a=X-Amz-Signature=${DIGITS}`,
  `X-Amz-Signature=${DIGITS}`,
  `X-Amz-Signature=${DIGITS.slice(1)}`,
  `X-Amz-Signature=${DIGITS}0`,
  `X-Amz-Signature=%30${DIGITS.slice(3)}`,
  `X-Amz-Signature=${DIGITS.toUpperCase()}`,
  'X-Amz-Signature',
  `X-Amz-Signatur%65=${DIGITS}`,
  `X-Amz-Signatures=${DIGITS}`,
  'X-Amz-Content-Sha256=UNSIGNED-PAYLOAD',
  'X-Amz-Security-Token=token',
  'X-Amz-Expires=200',
  'X-Svc-Algorithm=SVC4-HMAC-SHA256',
  'AWSAccessKeyId=AK',
]

const queries = fc
  .tuple(fc.subarray(USUAL, { minLength: 5 }), fc.subarray(ODD, { maxLength: 3 }))
  .chain(([usual, odd]) => fc.shuffledSubarray([...usual, ...odd], { minLength: usual.length + odd.length }))
  .map(pieces => pieces.join('&'))

test('a cached query equals a parsed one, and the usual form is cached', () => {
  let cached = 0
  fc.assert(
    fc.property(queries, query => {
      const fields = new Map([['host', 'a']])
      const found = cachedQuerySignature(query, fields, SCHEMES.s3)
      if (found === undefined) return
      const pairs = canonicalPairs(queryIn(SCHEMES.s3, query))
      assert.equal(isPresigned(pairs, SCHEMES.svc) || oldQuerySignature(pairs) !== undefined, false)
      assert.deepEqual(found, parseQuerySignature(pairs, fields, SCHEMES.s3))
      cached++
    }),
    { numRuns: 5_000 },
  )
  assert.ok(cached > 100, `${cached} queries were cached`)
})

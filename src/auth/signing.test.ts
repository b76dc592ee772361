import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCHEMES } from './schemes.ts'
import { sameSignature, scopeOf, sha256Hex, signingKey } from './signing.ts'
import { credential, REGION, sha } from './suite-signer.ts'

test('2.5: the signing key of the vectors', () => {
  const scope = scopeOf(SCHEMES.svc, '20130524', REGION)
  assert.equal(scope.text, '20130524/us-east-1/svc/svc4_request')
  assert.equal(
    signingKey(SCHEMES.svc, credential, scope).toString('hex'),
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
  assert.equal(new Set(others.map(key => key.toString('hex'))).size, others.length)
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

test('text is hashed as the bytes it stands for', () => {
  for (const text of ['', 'plain', 'v\u00e4lue \u00ff']) assert.equal(sha256Hex(text), sha(text))
})

test('attack 19: only 64 lower-case digits can be a signature', () => {
  const right = Buffer.from('ab'.repeat(32), 'hex')
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

/** Welch's t of two samples, each without its slowest fifth: that is the scheduler's. */
function welch(first: number[], second: number[]): number {
  const [a, b] = [first, second].map(sample => {
    const kept = sample.sort((x, y) => x - y).slice(0, Math.floor(sample.length * 0.8))
    const mean = kept.reduce((sum, x) => sum + x, 0) / kept.length
    return { mean, error: kept.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (kept.length - 1) / kept.length }
  }) as [{ mean: number; error: number }, { mean: number; error: number }]
  return (a.mean - b.mean) / Math.sqrt(a.error + b.error)
}

test('attack 20: how far a wrong signature is right does not show in the time', () => {
  // The signature sent stays the same and the right one differs: how fast the former is read tells nothing of it.
  const sent = 'ab'.repeat(32)
  const [early, late] = [0, 31].map(place => Buffer.from(sent, 'hex').fill(0, place, place + 1)) as [Buffer, Buffer]
  const time = (right: Buffer): number => {
    const start = process.hrtime.bigint()
    for (let i = 0; i < 8; i++) sameSignature(right, sent)
    return Number(process.hrtime.bigint() - start)
  }
  // A real difference shows in every round; a busy machine does not disturb the same way five times.
  const seen: number[] = []
  while (seen.length < 5) {
    const samples: [number[], number[]] = [[], []]
    for (let i = 0; i < 20_000; i++) {
      const isLate = Math.random() < 0.5
      samples[isLate ? 1 : 0].push(time(isLate ? late : early))
    }
    seen.push(Math.abs(welch(...samples)))
    if (seen.at(-1)! < 4.5) return
  }
  assert.fail(`|t| of ${seen.map(t => t.toFixed(1)).join(', ')}`)
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { BodyDigest } from './body-digest.ts'

for (const algorithm of ['md5', 'sha256'] as const) {
  test(`the ${algorithm} of a body does not depend on how its bytes are cut`, () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }), async pieces => {
        const digest = new BodyDigest(algorithm)
        for (const piece of pieces) await digest.update(Buffer.from(piece))
        const whole = Buffer.concat(pieces)
        assert.equal((await digest.digest()).toString('hex'), createHash(algorithm).update(whole).digest('hex'))
      }),
    ))
}

/** Bytes in use after a garbage collection. */
function bytesInUse(): number {
  const { Bun } = globalThis as { Bun?: { gc(now: boolean): void } }
  if (Bun === undefined) {
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
  } else Bun.gc(true)
  return process.memoryUsage().heapUsed
}

test('a body that comes byte by byte weighs hardly more than one that comes at once', async () => {
  const body = Buffer.alloc(256 * 1024 - 1)
  for (let i = 0; i < body.length; i++) body[i] = (i * i) >> 3
  const before = bytesInUse()
  const digests = Array.from({ length: 4 }, () => new BodyDigest('md5'))
  for (const digest of digests) for (let i = 0; i < body.length; i++) digest.update(body.subarray(i, i + 1))
  const kept = bytesInUse() - before
  assert(kept < digests.length * 4 * 2 ** 20, `${kept} bytes`)
  const expected = createHash('md5').update(body).digest('hex')
  for (const digest of digests) assert.equal((await digest.digest()).toString('hex'), expected)
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
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

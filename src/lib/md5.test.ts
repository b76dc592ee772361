import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { Md5 } from './md5.ts'

test('the digest does not depend on how the bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }), pieces => {
      const md5 = new Md5()
      for (const piece of pieces) md5.update(Buffer.from(piece))
      const whole = Buffer.concat(pieces)
      assert.equal(md5.digest().toString('hex'), createHash('md5').update(whole).digest('hex'))
    }),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { keySuccessor, prefixSuccessor, startsWith } from './bytes.ts'
import { descending, key, readDescending, readUint64, uint64 } from './keys.ts'

const anyText = fc.string({ unit: 'binary', maxLength: 12 }).filter(s => !s.includes('\0') && !/\p{Surrogate}/u.test(s))
const anyBytes = fc.uint8Array({ maxLength: 6 }).map(a => Buffer.from(a))
const sign = (n: number): number => Math.sign(n)

test('keys sort by their components: texts by UTF-8 bytes, then numbers', () => {
  fc.assert(
    fc.property(anyText, fc.maxSafeNat(), anyText, fc.maxSafeNat(), (a, m, b, n) => {
      const byText = Buffer.compare(Buffer.from(a), Buffer.from(b))
      assert.equal(sign(key('k', a, m).compare(key('k', b, n))), byText === 0 ? sign(m - n) : byText)
      assert.equal(sign(key('k', descending(m)).compare(key('k', descending(n)))), sign(n - m))
    }),
  )
})

test('numbers round-trip in both orders', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), n => {
      assert.equal(readUint64(uint64(n), 0), n)
      assert.equal(readDescending(descending(n), 0), n)
    }),
  )
})

test('a text with a zero byte is rejected', () => {
  assert.throws(() => key('k', 'a\0b'))
})

test('the successor of a prefix or key is the smallest greater key', () => {
  fc.assert(
    fc.property(anyBytes, anyBytes, (prefix, other) => {
      const after = prefixSuccessor(prefix)
      const inside = startsWith(other, prefix)
      const below = other.compare(prefix) < 0
      assert.equal(after === undefined || other.compare(after) < 0, inside || below)
      assert.equal(other.compare(keySuccessor(prefix)) >= 0, other.compare(prefix) > 0)
    }),
  )
  assert.equal(prefixSuccessor(Buffer.of(0xff, 0xff)), undefined)
  assert.deepEqual(prefixSuccessor(Buffer.of(0x61, 0xff)), Buffer.of(0x62))
})

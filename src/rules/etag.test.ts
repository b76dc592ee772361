import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bareEtag, parseEtags, quotedEtag } from './etag.ts'

test('lists of tags: quotes optional, weak ones, any', () => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['"a"', ['a']],
    ['a', ['a']],
    ['*', ['*']],
    ['"a", "b-2",c', ['a', 'b-2', 'c']],
    ['  "a"\t,\t"b"  ', ['a', 'b']],
    ['"a,b"', ['a,b']],
    ['W/"a"', ['a']],
    ['W/"a", "b"', ['a', 'b']],
    ['""', ['']],
    ['', []],
    [' , ,', []],
    ['"a', ['"a']],
    ['"a"b', ['"a"b']],
    ['w/"a"', ['w/"a"']],
  ]
  for (const [header, tags] of rows) assert.deepEqual(parseEtags(header, 'weak'), tags, header)
})

test('a weak tag permits no change', () => {
  assert.deepEqual(parseEtags('W/"a", "b"', 'strong'), ['W/"a"', 'b'])
})

test('whatever is quoted comes back, in a list of any length', () => {
  const tag = fc.string().filter(text => !text.includes('"'))
  fc.assert(
    fc.property(fc.array(tag, { maxLength: 20 }), tags => {
      assert.deepEqual(parseEtags(tags.map(quotedEtag).join(', '), 'strong'), tags)
    }),
  )
})

test('any header is read to its end', () => {
  const piece = fc.constantFrom('"', ',', ' ', 'W/', '*', 'a', '\t')
  fc.assert(
    fc.property(fc.array(piece), pieces => {
      const tags = parseEtags(pieces.join(''), 'weak')
      assert(tags.join('').length <= pieces.join('').length)
    }),
  )
  assert.equal(parseEtags('"a",'.repeat(4000), 'weak').length, 4000)
  assert.equal(parseEtags(' '.repeat(16_000), 'weak').length, 0)
})

test('R75: a tag in a document, with or without quotes', () => {
  assert.equal(bareEtag('"abc-3"'), 'abc-3')
  assert.equal(bareEtag(' abc '), 'abc')
  assert.equal(bareEtag('"'), '"')
  assert.equal(bareEtag('""'), '')
})

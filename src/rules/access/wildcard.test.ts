import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { naiveLike, wildSigns } from '../../../test/access/reference.ts'
import { compileText, matches } from './wildcard.ts'

const like = (pattern: string, text: string): boolean => matches(compileText(pattern), text)

test('G8: wildcards, as a table', () => {
  const rows: [string, string, boolean][] = [
    ['', '', true],
    ['*', '', true],
    ['*', 'anything/at\nall', true],
    ['?', '', false],
    ['?', '😀', true],
    ['a*', 'a', true],
    ['a*', 'ba', false],
    ['*a', 'bab', false],
    ['a*a', 'a', false],
    ['a**a', 'aa', true],
    ['a?*?a', 'axxa', true],
    ['a?*?a', 'axa', false],
    ['*ab*ab*', 'abab', true],
    ['*ab*ab*', 'aba', false],
    ['*aab', 'aaab', true],
    ['a.c', 'abc', false],
    ['[a]', 'a', false],
  ]
  for (const [pattern, text, expected] of rows) assert.equal(like(pattern, text), expected, `${pattern} ~ ${text}`)
})

test('G8: the matcher agrees with the table of all partial matches', () => {
  const letters = (signs: string): fc.Arbitrary<string> =>
    fc.string({ unit: fc.constantFrom(...signs), minLength: 0, maxLength: 12 })
  fc.assert(
    fc.property(letters('ab*?'), letters('ab'), (pattern, text) => {
      assert.equal(like(pattern, text), naiveLike(wildSigns(pattern), text))
    }),
    { numRuns: 3000 },
  )
  // Both search algorithms, and characters of two UTF-16 units.
  fc.assert(
    fc.property(letters('aé😀\u{1f601}*?'), letters('aé😀\u{1f601}'), (pattern, text) => {
      assert.equal(like(pattern, text), naiveLike(wildSigns(pattern), text))
      const long = 'x'.repeat(40)
      const [longer, longText] = [`*${long}${pattern}${long}*`, `é${long}${text}${long}😀`]
      assert.equal(like(longer, longText), naiveLike(wildSigns(longer), longText))
    }),
    { numRuns: 1000 },
  )
})

test('G8: pieces longer than a machine word are found across its borders', () => {
  for (const length of [31, 32, 33, 63, 64, 65, 200]) {
    const piece = `${'a'.repeat(length - 2)}?b`
    const text = `xx${'a'.repeat(length + 5)}bxx`
    assert.equal(like(`*${piece}*`, text), true, `${length}`)
    assert.equal(like(`*${piece}*`, text.replace('b', 'c')), false, `${length}`)
  }
})

test('G8: long pieces are found wherever they fit', () => {
  const pieces = fc.string({ unit: fc.constantFrom(...'aaaab?'), minLength: 1, maxLength: 90 })
  const rest = fc.string({ unit: fc.constantFrom(...'aaaaaé*?'), maxLength: 12 })
  const texts = fc.string({ unit: fc.constantFrom(...'aaaaaabé'), maxLength: 40 })
  fc.assert(
    fc.property(pieces, rest, texts, texts, (piece, more, before, after) => {
      const pattern = `*${piece}*${more}`
      // A text that holds the piece, and others of all lengths around it.
      const held = before + piece.replaceAll('?', 'é') + after
      for (const text of [held, held.slice(1), held.slice(0, -1), before + after, held.replace('b', 'a')]) {
        assert.equal(like(pattern, text), naiveLike(wildSigns(pattern), text), `${pattern} ~ ${text}`)
      }
    }),
    { numRuns: 1000 },
  )
})

test('A67: hostile patterns are matched in time linear in the text', () => {
  const count = (pattern: string, text: string): number => {
    const work = { steps: 0 }
    matches(compileText(pattern), text, work)
    return work.steps
  }
  const text = 'a'.repeat(1024)
  assert(count(`${'*a'.repeat(50)}*b`, text) <= 3 * 1024)
  assert(count(`${'*a'.repeat(50)}*b*`, text) <= 3 * 1024)
  assert(count(`${'*?'.repeat(50)}*b*`, text) <= 3 * 1024)
  // A long pattern that always fails at its end: 16 words per character, not 512 comparisons.
  assert(count(`*${'a'.repeat(511)}b*`, text) <= 18 * 1024)
  // Pieces that are longer than what is left of the text are not searched.
  const agent = 'a'.repeat(12_000)
  assert(count(`*${'?'.repeat(19_000)}x*`, agent) <= 10)
  assert(count(`*${'?'.repeat(7_000)}*${'?'.repeat(7_000)}x*`, agent) <= 10)
  assert(count(`*${'?'.repeat(11_000)}x*`, agent) <= 12_000 + 11_001 * (1_000 / 32 + 2))
  // Matches that would end beyond the text are not pursued.
  assert(count(`*${'a'.repeat(6_000)}b*`, agent) <= 12_000 + 6_001 * (6_000 / 32 + 2))
  assert(count(`${'*?'.repeat(9_000)}x*`, agent) <= 4 * 12_000)
  // The worst pattern that fits into a policy, against the longest header.
  assert(count(`*${'a'.repeat(10_000)}b*`, 'a'.repeat(16_384)) <= 16_384 * (10_001 / 32 + 3))
})

test('A67: a policy full of patterns against the longest header costs milliseconds', () => {
  const agent = 'a'.repeat(8000)
  const patterns = Array.from({ length: 2500 }, () => compileText('*b*'))
  const before = process.cpuUsage().user
  assert(patterns.every(pattern => !matches(pattern, agent)))
  const ms = (process.cpuUsage().user - before) / 1000
  // A few milliseconds; the bound allows for slow machines, and is far below the time of a quadratic search.
  assert(ms < 1_000, `${ms} ms`)
})

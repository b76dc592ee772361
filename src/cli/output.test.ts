import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COLOURED, facts, PLAIN, table, terminalStyle } from './output.ts'

test('columns are as wide as what stands in them', () => {
  const rows = [
    { a: 'x', b: true },
    { a: 'longer', b: undefined },
  ]
  assert.equal(table(rows, ['a', 'b']), 'A       B\nx       yes\nlonger  -')
  assert.equal(table([], ['a']), 'none')
  assert.equal(facts({ one: 1, other: undefined, third: 'x' }), 'one    1\nthird  x')
})

test('a user-chosen name cannot move the cursor', () => {
  assert.equal(facts({ name: 'a\x1b[2Jb\nc\u202e' }), 'name  a\ufffd[2Jb\ufffdc\ufffd')
})

test('colours only on a terminal that wants them', () => {
  assert.equal(terminalStyle(true, {}), COLOURED)
  assert.equal(terminalStyle(false, {}), PLAIN)
  assert.equal(terminalStyle(true, { NO_COLOR: '1' }), PLAIN)
  assert.equal(terminalStyle(true, { TERM: 'dumb' }), PLAIN)
})

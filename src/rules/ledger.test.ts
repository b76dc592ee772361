import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Ed25519Key, ed25519Key } from '../lib/ed25519.ts'
import type { LedgerNote } from '../model/ledger.ts'
import {
  checkpointText,
  closingLine,
  entryLine,
  entryText,
  genesisHash,
  hashOf,
  headerLine,
  LedgerCheck,
  type LedgerName,
} from './ledger.ts'
import { verifyLedger } from './suite-ledger.ts'

const KEY = ed25519Key(Buffer.alloc(32, 7))
const OTHER_KEY = ed25519Key(Buffer.alloc(32, 8))
const NAME: LedgerName = { store: 'ab'.repeat(16), bucket: 'evidence' }
const BY = { account: '111111111111', user: 'clerk', accessKey: 'AKCLERK', request: 'R1' }
const publicKey = KEY.publicKey.toString('hex')

const noteOf = (i: number): LedgerNote =>
  i % 3 === 0
    ? { what: 'delete refused', key: `k${i} "ü\n`, versionId: 'null', reason: 'held', times: i + 1 }
    : {
        what: 'hold',
        key: `k${i}`,
        versionId: 'f'.repeat(32),
        before: { hold: null, retention: null },
        after: { hold: 'ON', retention: { mode: 'compliance', until: '2030-01-01T00:00:00.000Z' } },
      }

/** A ledger as a server would print it. */
function ledger(count: number, key: Ed25519Key = KEY, name: LedgerName = NAME, notes = noteOf): string[] {
  const lines = [headerLine(name, key.publicKey.toString('hex'))]
  let last = genesisHash(name)
  for (let i = 0; i < count; i++) {
    const text = entryText({ sequence: i + 1, time: 1_000 + i, previous: last }, BY, notes(i))
    last = hashOf(text)
    lines.push(entryLine(text))
  }
  const end = { entries: count, last, time: 5_000 }
  return [...lines, closingLine(end, key.sign(checkpointText(name, end)))]
}

const problemOf = (lines: readonly string[], expected = {}) => verifyLedger(lines, expected).problem

test('P31: an unmodified ledger of any length verifies', () => {
  for (const count of [0, 1, 2, 7]) {
    const verdict = verifyLedger(ledger(count), { publicKey })
    assert.equal(verdict.problem, undefined)
    assert.deepEqual([verdict.entries, verdict.bucket, verdict.publicKey], [count, 'evidence', publicKey])
  }
})

test('P31: a ledger verifies whatever characters its keys have', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('a\u2028b', '\u2029', '\x85\r\n\x7f')), key => {
      const lines = ledger(2, KEY, NAME, i => ({ ...noteOf(i), key }) as LedgerNote)
      assert.equal(problemOf(lines, { publicKey }), undefined)
      // As a file, which only line feeds divide.
      assert.deepEqual(lines.join('\n').split('\n'), lines)
    }),
  )
})

test('P31: a changed character in any field of any line is detected in that line', () => {
  const lines = ledger(4)
  const place = fc.nat(lines.length - 1).chain(line => fc.tuple(fc.constant(line), fc.nat(lines[line]!.length - 1)))
  fc.assert(
    fc.property(place, fc.constantFrom(...'0af9"{},: Z'), ([line, at], character) => {
      const altered = [...lines]
      const text = lines[line]!
      altered[line] = text.slice(0, at) + character + text.slice(at + 1)
      fc.pre(altered[line] !== text)
      const problem = problemOf(altered)
      assert(problem !== undefined, altered[line])
      // The header is only proved by the entries after it.
      assert(line === 0 ? problem.line >= 1 : problem.line === line + 1, JSON.stringify(problem))
    }),
    { numRuns: 2_000 },
  )
})

test('P31: an entry changed together with its hash breaks the chain at the next line', () => {
  const lines = ledger(5)
  const fields = Object.keys(JSON.parse(lines[2]!)).filter(field => field !== 'hash')
  assert.deepEqual(fields, ['sequence', 'time', 'what', 'key', 'versionId', 'before', 'after', 'by', 'previous'])
  for (const field of fields) {
    const { hash: _, ...entry } = JSON.parse(lines[2]!)
    const forged = entryLine(JSON.stringify({ ...entry, [field]: field === 'sequence' ? 9 : 'x' }))
    const problem = problemOf(lines.with(2, forged))
    const seen = field === 'sequence' || field === 'previous' ? 3 : 4
    assert.deepEqual([problem?.line, problem?.sequence], [seen, seen - 1], field)
  }
})

test('P31: dropped, duplicated, moved, swapped and added lines are detected', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 9 }), fc.nat(99), fc.nat(99), (count, one, two) => {
      const lines = ledger(count)
      const [a, b] = [1 + (one % count), 1 + (two % count)]
      assert(problemOf(lines.toSpliced(a, 1)) !== undefined, 'dropped')
      assert.equal(problemOf(lines.toSpliced(a, 0, lines[a]!))?.line, a + 2, 'doubled')
      assert(problemOf([...lines, lines[a]!]) !== undefined, 'added behind the end')
      if (a === b) return
      assert(problemOf(lines.with(a, lines[b]!).with(b, lines[a]!)) !== undefined, 'exchanged')
      assert(problemOf(lines.toSpliced(a, 1).toSpliced(b, 0, lines[a]!)) !== undefined, 'moved')
    }),
  )
})

test('P31: truncation is detected at any line and with any older closing line', () => {
  const lines = ledger(6)
  for (let left = 0; left < lines.length; left++) {
    assert.match(problemOf(lines.slice(0, left))?.reason ?? '', /truncated/)
    if (left === 0 || left === lines.length - 1) continue
    assert(problemOf([...lines.slice(0, left), lines.at(-1)!]) !== undefined, 'cut before its closing line')
  }
  // An earlier export is valid by itself; only a later head shows that entries are missing.
  const earlier = ledger(3)
  assert.equal(problemOf(earlier), undefined)
  const kept = { entries: 6, last: verifyLedger(lines).last! }
  assert.match(problemOf(earlier, { earlier: kept })?.reason ?? '', /truncated/)
  assert.equal(problemOf(lines, { earlier: { entries: 3, last: verifyLedger(earlier).last! } }), undefined)
  const rewritten = ledger(6, KEY, NAME, i => ({ ...noteOf(i), key: 'other' }) as LedgerNote)
  const problem = problemOf(rewritten, { earlier: { entries: 3, last: verifyLedger(earlier).last! } })
  assert.deepEqual([problem?.line, problem?.sequence], [4, 3])
})

test('P31: another ledger, or one signed by another key, is detected', () => {
  const mine = ledger(3)
  const theirs = ledger(3, KEY, { ...NAME, bucket: 'other' })
  const elsewhere = ledger(3, KEY, { ...NAME, store: 'cd'.repeat(16) })
  for (const foreign of [theirs, elsewhere]) {
    assert.equal(problemOf([mine[0]!, ...foreign.slice(1)])?.line, 2)
    assert.equal(problemOf([foreign[0]!, ...mine.slice(1)])?.line, 2)
    assert.equal(problemOf([...mine.slice(0, -1), foreign.at(-1)!])?.line, 5)
  }
  const forged = ledger(3, OTHER_KEY)
  assert.equal(problemOf(forged, { publicKey })?.line, 1)
  assert.equal(problemOf([mine[0]!, ...forged.slice(1)])?.line, 5)
  assert.equal(problemOf([forged[0]!, ...mine.slice(1)])?.line, 5)
  // Without an expected key, the result names the key that signed.
  assert.equal(verifyLedger(forged).publicKey, OTHER_KEY.publicKey.toString('hex'))
})

test('P31: input that is not a ledger is reported without an exception', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.json(), fc.constantFrom(...ledger(2)))), lines => {
      const whole = lines.join('\n') === ledger(2).join('\n')
      assert.equal(verifyLedger(lines).problem === undefined, whole)
    }),
  )
  const check = new LedgerCheck()
  assert.match(check.end().problem?.reason ?? '', /truncated/)
})

/** The verification of ledgers in the browser, on ledgers as the server prints them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { earlierHead } from '../../console/src/ledger/earlier-export.ts'
import { fingerprintOf, LedgerVerification } from '../../console/src/ledger/verification.ts'
import { type Ed25519Key, ed25519Key } from '../../src/lib/ed25519.ts'
import type { LedgerNote } from '../../src/model/ledger.ts'
import {
  checkpointText,
  closingLine,
  entryLine,
  entryText,
  genesisHash,
  hashOf,
  headerLine,
} from '../../src/rules/ledger.ts'

const KEY = ed25519Key(Buffer.alloc(32, 7))
const OTHER_KEY = ed25519Key(Buffer.alloc(32, 8))
const NAME = { store: 'ab'.repeat(16), bucket: 'evidence' }
const PUBLIC_KEY = KEY.publicKey.toString('hex')
const NO_LOCK = { hold: null, retention: null }

const noteOf = (i: number): LedgerNote => ({
  what: 'hold',
  key: `k${i} "ü\n\u2028`,
  versionId: 'f'.repeat(32),
  before: NO_LOCK,
  after: { hold: 'ON', retention: null },
})

/** Header, entries and closing line, signed by the key. */
function ledger(count: number, key: Ed25519Key = KEY, name = NAME): string[] {
  const lines = [headerLine(name, PUBLIC_KEY)]
  let last = genesisHash(name)
  for (let i = 0; i < count; i++) {
    const text = entryText({ sequence: i + 1, time: 1_000 + i, previous: last }, { account: '1' }, noteOf(i))
    last = hashOf(text)
    lines.push(entryLine(text))
  }
  const end = { entries: count, last, time: 5_000 }
  return [...lines, closingLine(end, key.sign(checkpointText(name, end)))]
}

interface Expected {
  readonly publicKey?: string
  readonly earlier?: { readonly entries: number; readonly last: string }
}

/** Two pieces, so that the chain also crosses the border of pages. */
async function verdictOf(lines: readonly string[], expected: Expected = {}) {
  const check = new LedgerVerification({ bucket: 'evidence', ...expected })
  await check.begin(lines[0] ?? '')
  const entries = lines.slice(1).filter(line => line.startsWith('{"sequence"'))
  await check.take(entries.slice(0, 2))
  await check.take(entries.slice(2))
  return check.end(lines.find(line => line.startsWith('{"entries"')))
}

const problemOf = async (lines: readonly string[], expected?: Expected) => (await verdictOf(lines, expected)).problem

test('a ledger as the server prints it is verified, whatever its length', async () => {
  for (const count of [0, 1, 2, 7]) {
    const verdict = await verdictOf(ledger(count), { publicKey: PUBLIC_KEY })
    assert.deepEqual(
      [verdict.problem, verdict.entries, verdict.publicKey, verdict.isSignatureChecked, verdict.signedAt],
      [undefined, count, PUBLIC_KEY, true, new Date(5_000).toISOString()],
    )
  }
})

/** The fifth entry with another text, and with the hash that this text has. */
function rewritten(lines: readonly string[]): string[] {
  const text = lines[5]!.replace(/,"hash":"[0-9a-f]{64}"\}$/, '}').replace('"ON"', '"OFF"')
  return lines.with(5, entryLine(text))
}

/** Changes of a ledger of seven entries, each with the finding and its place. */
const CHANGES: readonly (readonly [string, (lines: string[]) => string[], string, number | undefined])[] = [
  ['an entry is changed', lines => lines.with(3, lines[3]!.replace('"ON"', '"OFF"')), 'altered', 3],
  ['the time of an entry is changed', lines => lines.with(1, lines[1]!.replace('1970', '1971')), 'altered', 1],
  ['a changed entry gets its right hash', rewritten, 'chain', 6],
  ['an entry is removed', lines => lines.toSpliced(4, 1), 'sequence', 4],
  ['the first entry is removed', lines => lines.toSpliced(1, 1), 'sequence', 1],
  ['the last entry is removed', lines => lines.toSpliced(7, 1), 'truncated', undefined],
  ['two entries change places', lines => lines.with(3, lines[4]!).with(4, lines[3]!), 'sequence', 3],
  ['an entry is doubled', lines => lines.toSpliced(3, 0, lines[3]!), 'sequence', 4],
  ['an entry is no JSON', lines => lines.with(2, '{"sequence":2,nonsense'), 'entry', 2],
  ['the header is of another format', lines => lines.with(0, lines[0]!.replace(':1,', ':2,')), 'header', undefined],
  ['the header is missing', lines => lines.slice(1), 'header', undefined],
  ['the header names another store', lines => lines.with(0, lines[0]!.replace('abab', 'cdcd')), 'chain', 1],
  ['it is another bucket', () => ledger(7, KEY, { ...NAME, bucket: 'other' }), 'other ledger', undefined],
  ['the closing line is missing', lines => lines.slice(0, -1), 'truncated', undefined],
  ['the closing line counts fewer', lines => [...lines.slice(0, 8), ledger(6).at(-1)!], 'count', undefined],
  [
    'the closing time is changed',
    lines => lines.with(8, lines[8]!.replace('05.000Z', '06.000Z')),
    'signature',
    undefined,
  ],
  ['the signature is cut', lines => lines.with(8, lines[8]!.replace(/..(?="\}$)/, '')), 'signature', undefined],
  [
    'the signature is no hexadecimal',
    lines => lines.with(8, lines[8]!.replace(/..(?="\}$)/, 'zz')),
    'closing',
    undefined,
  ],
  ['another key has signed', () => ledger(7, OTHER_KEY), 'signature', undefined],
]

for (const [title, change, fault, sequence] of CHANGES) {
  test(`when ${title}, verification says so and where`, async () => {
    const problem = await problemOf(change(ledger(7)))
    assert.deepEqual([problem?.fault, problem?.sequence], [fault, sequence])
  })
}

test('a ledger of another key than the one that is known is refused', async () => {
  const known = OTHER_KEY.publicKey.toString('hex')
  assert.deepEqual(await problemOf(ledger(2), { publicKey: known }), { fault: 'other key' })
})

test('a ledger must continue an earlier export', async () => {
  const earlier = await earlierHead('evidence', `${ledger(3).join('\n')}\n`)
  assert.equal(earlier?.entries, 3)
  assert.equal(await problemOf(ledger(7), { earlier: earlier! }), undefined)
  assert.equal(await problemOf(ledger(3), { earlier: earlier! }), undefined)
  assert.deepEqual(await problemOf(ledger(2), { earlier: earlier! }), { fault: 'earlier' })
  const other = { entries: 3, last: '0'.repeat(64) }
  assert.deepEqual(await problemOf(ledger(7), { earlier: other }), { fault: 'earlier', sequence: 3 })
})

test('an earlier export that is damaged, or of another ledger, is not compared with', async () => {
  assert.equal(await earlierHead('other', ledger(3).join('\n')), undefined)
  assert.equal(await earlierHead('evidence', ledger(3).slice(0, -1).join('\n')), undefined)
  assert.equal(await earlierHead('evidence', ''), undefined)
})

test('without Ed25519 the chain is verified and the signature is not', async t => {
  const { importKey } = crypto.subtle
  t.after(() => {
    crypto.subtle.importKey = importKey
  })
  crypto.subtle.importKey = () => Promise.reject(new DOMException('unknown algorithm', 'NotSupportedError'))
  const verdict = await verdictOf(ledger(3))
  assert.deepEqual([verdict.problem, verdict.entries, verdict.isSignatureChecked], [undefined, 3, false])
  assert.equal((await problemOf(ledger(3).toSpliced(2, 1)))?.sequence, 2)
})

test('a fingerprint is the hash of the bytes of the key, in groups', async () => {
  const fingerprint = await fingerprintOf(PUBLIC_KEY)
  assert.match(fingerprint, /^([0-9a-f]{4} ){15}[0-9a-f]{4}$/)
  assert.notEqual(fingerprint, await fingerprintOf(OTHER_KEY.publicKey.toString('hex')))
})

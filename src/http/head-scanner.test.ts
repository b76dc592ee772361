/** A scanned head is read as the parser of plain heads reads it, or not at all. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ABSENT, HeadScanner } from './head-scanner.ts'
import { headersOf, parsePlainHead } from './plain-head.ts'

const NAMES = ['host', 'connection', 'accept', 'x-amz-date', 'date']

interface Scanned {
  readonly method: string
  readonly path: string
  readonly target: string
  readonly isLast: boolean
  readonly headers: Readonly<Record<string, string>>
}

function scanned(text: string, scanner = new HeadScanner(NAMES)): Scanned | undefined {
  const bytes = Buffer.from(text, 'latin1')
  if (!scanner.scan(bytes)) return undefined
  const { isHead, isLast, targetStart, pathEnd, targetEnd, starts, ends } = scanner
  const found = NAMES.flatMap((name, at) =>
    starts[at] === ABSENT ? [] : [[name, bytes.toString('latin1', starts[at], ends[at])]],
  )
  return {
    method: isHead ? 'HEAD' : 'GET',
    path: bytes.toString('latin1', targetStart, pathEnd),
    target: bytes.toString('latin1', targetStart, targetEnd),
    isLast,
    headers: Object.fromEntries(found),
  }
}

test('a head in its usual form', () => {
  assert.deepEqual(scanned('GET /b/k?a=%20?b HTTP/1.1\r\nHost: h\r\nX-AMZ-Date:2026 \r\naccept:\r\n\r\n'), {
    method: 'GET',
    path: '/b/k',
    target: '/b/k?a=%20?b',
    isLast: false,
    headers: { host: 'h', 'x-amz-date': '2026', accept: '' },
  })
  assert.deepEqual(scanned('HEAD / HTTP/1.1\r\nConnection: Close\r\n\r\n'), {
    method: 'HEAD',
    path: '/',
    target: '/',
    isLast: true,
    headers: { connection: 'Close' },
  })
  assert.equal(scanned('HEAD / HTTP/1.1\r\nconnection: keep-alive\r\n\r\n')?.isLast, false)
})

test('nothing of a head is left for the next', () => {
  const scanner = new HeadScanner(NAMES)
  scanned('GET /b/k HTTP/1.1\r\nHost: h\r\nAccept: a\r\nConnection: close\r\n\r\n', scanner)
  scanned('GET /b/k HTTP/1.1\r\nDate: now\r\nOther: header\r\n\r\n', scanner)
  const { isLast, headers } = scanned('GET / HTTP/1.1\r\nHost: i\r\n\r\n', scanner)!
  assert.deepEqual({ isLast, headers }, { isLast: false, headers: { host: 'i' } })
})

const REFUSED: [title: string, text: string][] = [
  ['nothing', ''],
  ['a part of a head', 'GET / HTTP/1.1\r\nHost: h\r\n'],
  ['all but the last byte', 'GET / HTTP/1.1\r\nHost: h\r\n\r'],
  ['a head and the start of another', 'GET / HTTP/1.1\r\nHost: h\r\n\r\nG'],
  ['an empty line before', '\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['another method', 'PUT / HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['another version', 'GET / HTTP/1.0\r\nHost: h\r\n\r\n'],
  ['no target', 'GET HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['an absolute target', 'GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['a byte beyond ASCII in the target', 'GET /\xe9 HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['a byte beyond ASCII in a value', 'GET / HTTP/1.1\r\nHost: \xe9\r\n\r\n'],
  ['a tab in a value', 'GET / HTTP/1.1\r\nHost: a\tb\r\n\r\n'],
  ['a run of spaces in a value', 'GET / HTTP/1.1\r\nHost: a  b\r\n\r\n'],
  ['a header that is not on the list', 'GET / HTTP/1.1\r\nHost: h\r\nRange: bytes=0-0\r\n\r\n'],
  ['a length', 'GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n'],
  ['a header that was sent before', 'GET / HTTP/1.1\r\nHost: h\r\nHOST: h\r\n\r\n'],
  ['a name that differs by the bit of a case', 'GET / HTTP/1.1\r\nH\x0fst: h\r\n\r\n'],
  ['bare line feeds', 'GET / HTTP/1.1\nHost: h\n\n'],
  ['a bare line feed in a value', 'GET / HTTP/1.1\r\nHost: h\nDate: d\r\n\r\n'],
  ['a space before the colon', 'GET / HTTP/1.1\r\nHost : h\r\n\r\n'],
  ['a folded header', 'GET / HTTP/1.1\r\nHost: h\r\n Date: d\r\n\r\n'],
  ['no name', 'GET / HTTP/1.1\r\n: h\r\n\r\n'],
  ['several wishes', 'GET / HTTP/1.1\r\nConnection: keep-alive, close\r\n\r\n'],
  ['an upgrade', 'GET / HTTP/1.1\r\nConnection: upgrade\r\n\r\n'],
  ['a long head', `GET / HTTP/1.1\r\nHost: ${'h'.repeat(8_192)}\r\n\r\n`],
]

for (const [title, text] of REFUSED) test(`left to the parsers: ${title}`, () => assert.equal(scanned(text), undefined))

test('a list with a name that could not be found is refused', () => {
  assert.throws(() => new HeadScanner(['Host']), /unexpected name of a header: Host/)
})

const value = fc.stringMatching(/^[\t\x20-\x7e\x80-\xff]{0,12}$/)
const name = fc.constantFrom('Host', 'HOST', 'Connection', 'X-Amz-Date', 'x-amz-date', 'Accept', 'date', 'Range')
const wish = fc.constantFrom('close', 'keep-alive', 'Keep-Alive', 'upgrade')
const heads = fc
  .record({
    method: fc.constantFrom('GET', 'HEAD', 'get'),
    target: fc.stringMatching(/^\/[!-~]{0,12}$/),
    lines: fc.array(fc.tuple(name, fc.oneof(value, fc.stringMatching(/^[!-~]{0,6}$/), wish)), { maxLength: 4 }),
  })
  .map(({ method, target, lines }) => {
    const fields = lines.map(([name, text]) => `${name}: ${text}\r\n`).join('')
    return `${method} ${target} HTTP/1.1\r\n${fields}\r\n`
  })

/** Puts a byte in place of another, or between two. */
const changed = fc
  .tuple(heads, fc.nat(), fc.constantFrom('', '\r', '\n', ' ', ':', '\t', '\0', '\xff', '\r\n'), fc.nat(1))
  .map(([head, at, byte, cut]) => head.slice(0, at % head.length) + byte + head.slice((at % head.length) + cut))

test('the parser of plain heads reads the same request where a head is accepted', () => {
  const scanner = new HeadScanner(NAMES)
  let accepted = 0
  fc.assert(
    fc.property(fc.oneof(heads, changed), text => {
      const found = scanned(text, scanner)
      if (found === undefined) return
      accepted++
      // The scanner accepts a head without any header, which can have no signature.
      if (Object.keys(found.headers).length === 0) return
      const { request, isLast } = parsePlainHead(Buffer.from(text, 'latin1'))!
      const headers = Object.fromEntries(request.headers.map(([sent, text]) => [sent.toLowerCase(), text]))
      assert.equal(request.headers.length, Object.keys(found.headers).length)
      const { method, target } = request
      assert.deepEqual(found, { method, path: target.split('?', 1)[0], target, isLast, headers })
      assert.deepEqual(headersOf(scanner.bytes), request.headers)
    }),
    { numRuns: 5_000 },
  )
  assert.ok(accepted >= 500, `${accepted} heads were accepted`)
})

/** A plain head is read as the runtime's parser reads it, or not at all. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseArrived, parsePlainHead } from './plain-head.ts'

const parse = (text: string) => parsePlainHead(Buffer.from(text, 'latin1'))

test('a plain head', () => {
  assert.deepEqual(parse('GET /b/k?a=%20 HTTP/1.1\r\nHost: h\r\nX-A:\t b c \r\nx-a:\r\n\r\n'), {
    request: {
      method: 'GET',
      target: '/b/k?a=%20',
      headers: [
        ['Host', 'h'],
        ['X-A', 'b c'],
        ['x-a', ''],
      ],
      isShared: false,
    },
    isLast: false,
  })
  assert.equal(parse('HEAD / HTTP/1.1\r\nConnection: Close\r\n\r\n')?.isLast, true)
  assert.equal(parse('HEAD / HTTP/1.1\r\nconnection: keep-alive\r\n\r\n')?.isLast, false)
})

const REFUSED: [title: string, text: string][] = [
  ['nothing', ''],
  ['a part of a head', 'GET / HTTP/1.1\r\nHost: h\r\n'],
  ['a head and the start of another', 'GET / HTTP/1.1\r\nHost: h\r\n\r\nG'],
  ['two heads', 'GET / HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(2)],
  ['an empty line before', '\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['no headers', 'GET / HTTP/1.1\r\n\r\n'],
  ['another method', 'PUT / HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['another version', 'GET / HTTP/1.0\r\nHost: h\r\n\r\n'],
  ['an absolute target', 'GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['a control character in the target', 'GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['a byte beyond ASCII in the target', 'GET /\xe9 HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['bare line feeds', 'GET / HTTP/1.1\nHost: h\n\n'],
  ['a carriage return in a value', 'GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n'],
  ['a control character in a value', 'GET / HTTP/1.1\r\nHost: \x00\r\n\r\n'],
  ['a space before the colon', 'GET / HTTP/1.1\r\nHost : h\r\n\r\n'],
  ['a folded header', 'GET / HTTP/1.1\r\nHost: h\r\n X: y\r\n\r\n'],
  ['no name', 'GET / HTTP/1.1\r\n: h\r\n\r\n'],
  ['no colon', 'GET / HTTP/1.1\r\nHost\r\n\r\n'],
  ['a length', 'GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n'],
  ['a transfer encoding', 'GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ['an expectation', 'GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n'],
  ['an upgrade', 'GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'],
  ['two wishes', 'GET / HTTP/1.1\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n'],
  ['several wishes', 'GET / HTTP/1.1\r\nConnection: keep-alive, close\r\n\r\n'],
  ['a long head', `GET / HTTP/1.1\r\nHost: ${'h'.repeat(8_192)}\r\n\r\n`],
]

for (const [title, text] of REFUSED) test(`left to the runtime: ${title}`, () => assert.equal(parse(text), undefined))

const arrived = (text: string) => parseArrived(Buffer.from(text, 'latin1'))

test('a request with its body', () => {
  const head = 'PUT /b/k HTTP/1.1\r\nContent-Length: 4\r\n\r\n'
  const found = arrived(`${head}body`)
  const request = { method: 'PUT', target: '/b/k', headers: [['Content-Length', '4']] }
  assert.deepEqual({ ...found, body: String(found?.body) }, { request, isLast: false, body: 'body', missingBytes: 0 })
  assert.equal(arrived(head)?.missingBytes, 4)
  assert.equal(arrived(`${head}bod`)?.missingBytes, 1)
  assert.equal(arrived('DELETE /b/k HTTP/1.1\r\nHost: h\r\n\r\n')?.missingBytes, 0)
  assert.equal(arrived('PUT /b/k HTTP/1.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')?.isLast, true)
})

const NEVER_HERE: [title: string, text: string][] = [
  ['a part of a head', 'PUT / HTTP/1.1\r\nContent-Length: 0\r\n'],
  ['a body and the start of another request', 'PUT / HTTP/1.1\r\nContent-Length: 1\r\n\r\nbG'],
  ['no length', 'PUT / HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['two lengths', 'PUT / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n'],
  ['a length with a sign', 'PUT / HTTP/1.1\r\nContent-Length: +1\r\n\r\nb'],
  ['a length in hexadecimal', 'PUT / HTTP/1.1\r\nContent-Length: 0x1\r\n\r\nb'],
  ['a length and an encoding', 'PUT / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nb'],
  ['an expectation of a body', 'PUT / HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\nb'],
  ['a body of a read', 'GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\nb'],
  ['a body of a deletion', 'DELETE / HTTP/1.1\r\nContent-Length: 1\r\n\r\nb'],
  ['a method with another beginning', 'PUTS / HTTP/1.1\r\nContent-Length: 0\r\n\r\n'],
  ['an unknown method', 'PATCH / HTTP/1.1\r\nContent-Length: 0\r\n\r\n'],
]

for (const [title, text] of NEVER_HERE) {
  test(`left to the runtime, body or not: ${title}`, () => assert.equal(arrived(text), undefined))
}

interface Seen {
  readonly method: string | undefined
  readonly target: string | undefined
  readonly rawHeaders: readonly string[]
  readonly isLast: boolean
  readonly body: string
}

/** The one request that the runtime finds in these bytes; undefined if they are none, or not one alone. */
async function seenByRuntime(bytes: Buffer): Promise<Seen | undefined> {
  const seen: Seen[] = []
  const messages: IncomingMessage[] = []
  const bodies: string[] = []
  let isBroken = false
  const server = createServer({ requireHostHeader: false }, (message, response) => {
    const { method, url: target, rawHeaders } = message
    const index = messages.push(message) - 1
    bodies.push('')
    message.on('data', chunk => {
      bodies[index] += chunk.toString('latin1')
    })
    seen.push({ method, target, rawHeaders, isLast: !response.shouldKeepAlive, body: '' })
  })
  server.on('clientError', () => {
    isBroken = true
  })
  const connection = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
  server.emit('connection', connection)
  connection.push(bytes)
  for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate)
  const isComplete = messages.every(({ complete }) => complete)
  connection.destroy()
  server.close()
  return isBroken || seen.length !== 1 || !isComplete ? undefined : { ...seen[0]!, body: bodies[0]! }
}

const token = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,8}$/)
const value = fc.stringMatching(/^[\t\x20-\x7e\x80-\xff]{0,12}$/)
const lines = fc.array(fc.tuple(fc.constantFrom('Host', 'Connection', 'X-Amz-Date', 'Accept'), value), { maxLength: 3 })
const heads = fc
  .record({
    method: fc.constantFrom('GET', 'GET', 'HEAD', 'get', 'POST'),
    target: fc.stringMatching(/^\/[!-~]{0,12}$/),
    version: fc.constantFrom('1.1', '1.1', '1.1', '1.0', '2.0'),
    more: fc.array(fc.tuple(token, value), { maxLength: 2 }),
    lines,
  })
  .map(({ method, target, version, more, lines }) => {
    const fields = [...lines, ...more].map(([name, text]) => `${name}: ${text}\r\n`).join('')
    return `${method} ${target} HTTP/${version}\r\n${fields}\r\n`
  })

/** Puts a byte in place of another, or between two. */
const changed = fc
  .tuple(heads, fc.nat(), fc.constantFrom('', '\r', '\n', ' ', ':', '\t', '\0', '\xff', '\r\n'), fc.nat(1))
  .map(([head, at, byte, cut]) => head.slice(0, at % head.length) + byte + head.slice((at % head.length) + cut))

test('the runtime reads the same request where a head is plain', async () => {
  let plain = 0
  await fc.assert(
    fc.asyncProperty(fc.oneof(heads, changed), async text => {
      const found = parse(text)
      if (found === undefined) return
      plain++
      const { method, target, headers } = found.request
      const expected = { method, target, rawHeaders: headers.flat(), isLast: found.isLast, body: '' }
      assert.deepEqual(await seenByRuntime(Buffer.from(text, 'latin1')), expected)
    }),
    { numRuns: 2_000 },
  )
  assert.ok(plain >= 200, `${plain} heads were plain`)
})

const bodies = fc.stringMatching(/^[a-z\r\n]{0,6}$/)
const requests = fc
  .record({
    method: fc.constantFrom('PUT', 'PUT', 'POST', 'DELETE', 'GET', 'HEAD', 'PATCH'),
    target: fc.stringMatching(/^\/[!-~]{0,12}$/),
    length: fc.constantFrom('same', 'same', 'same', 'none', 'other'),
    more: fc.array(fc.tuple(token, value), { maxLength: 2 }),
    lines,
    body: bodies,
  })
  .map(({ method, target, length, more, lines, body }) => {
    const bytes = length === 'same' ? body.length : 3
    const own = length === 'none' ? [] : [['Content-Length', String(bytes)] as const]
    const fields = [...lines, ...own, ...more].map(([name, text]) => `${name}: ${text}\r\n`).join('')
    return `${method} ${target} HTTP/1.1\r\n${fields}\r\n${body}`
  })

test('the runtime reads the same request where one has arrived', async () => {
  let whole = 0
  let withBody = 0
  await fc.assert(
    fc.asyncProperty(fc.oneof(requests, requests, heads, changed), async text => {
      const found = arrived(text)
      if (found === undefined || found.missingBytes > 0) return
      whole++
      if (found.body.length > 0) withBody++
      const { method, target, headers } = found.request
      const body = found.body.toString('latin1')
      const expected = { method, target, rawHeaders: headers.flat(), isLast: found.isLast, body }
      assert.deepEqual(await seenByRuntime(Buffer.from(text, 'latin1')), expected)
    }),
    { numRuns: 2_000 },
  )
  assert.ok(whole >= 200 && withBody >= 50, `${whole} requests, ${withBody} with a body`)
})

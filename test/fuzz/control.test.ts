/** A fuzzer that finds nothing proves nothing: known-bad servers must be caught, and a good one must not. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { SCHEMES } from '../../src/auth/signing.ts'
import { cases } from '../specimens/specimens.ts'
import { withFolder } from '../store/fixture.ts'
import { AnswerReader, NoAnswer } from './answers.ts'
import { shoot, Tally } from './campaign.ts'
import type { Target } from './draft.ts'

const SECRET = 'never to be seen'

const target: Target = {
  place: {
    bucket: 'range',
    locked: 'locked',
    empty: 'empty',
    fresh: 'fresh',
    key: 'k',
    owner: '0'.repeat(64),
    until: '2030-01-01T00:00:00Z',
    uploadId: 'u',
  },
  foreign: 'canary',
  baseHost: 'hf.example',
  cases: cases(),
  versions: ['v'],
  signer: dialect => ({
    scheme: SCHEMES[dialect],
    accessKey: 'AK',
    secretKey: SECRET,
    region: 'us-east-1',
    now: Date.UTC(2026, 0, 1),
  }),
}

type Handler = (message: IncomingMessage, response: ServerResponse) => void

const SHOTS = 120
/** Long enough that only a server that never responds exceeds it, however busy the machine is. */
const PATIENT_MS = 60_000
const IMPATIENT_MS = 500

/** The tally for a server that does this to every PUT, and handles all others well. */
async function campaignAgainst(bad: Handler | undefined, answerMsMax = PATIENT_MS): Promise<Tally> {
  const server = createServer({ requireHostHeader: false }, (message, response) => {
    message.resume()
    message.on('error', () => {})
    message.on('end', () => {
      if (bad !== undefined && message.method === 'PUT') bad(message, response)
      else response.end()
    })
  })
  server.on('checkContinue', (message, response) => server.emit('request', message, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const tally = new Tally()
  await withFolder(async folder => {
    const campaign = { port, seed: 7, target, secret: SECRET, answerMsMax, lanes: SHOTS, folder }
    await shoot(campaign, tally, 0, SHOTS)
    for (const { file } of tally.failures) assert.match(readFileSync(file, 'latin1'), /^[0-9a-f]+\n$/)
  })
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
  return tally
}

test('a server that responds causes no report', async () => {
  const tally = await campaignAgainst(undefined)
  assert.deepEqual(tally.failures, [])
  assert.equal(tally.shots, SHOTS)
})

const silent: Handler = () => {}

const BAD: readonly (readonly [string, RegExp, Handler])[] = [
  ['that answers 500', /^status 500/, (_, response) => void response.writeHead(500).end()],
  ['that answers 503', /^status 503/, (_, response) => void response.writeHead(503).end()],
  ['that never answers', /^no answer within/, silent],
  ['that hangs up', /^the connection ended/, message => void message.socket.destroy()],
  [
    'that breaks off',
    /no whole answer|ended/,
    (message, response) => {
      response.writeHead(200, { 'content-length': 10 })
      response.write('half', () => message.socket.destroy())
    },
  ],
  [
    'that lets a header in',
    /of the client/,
    (_, response) => void response.writeHead(200, { 'X-Injected': '1' }).end(),
  ],
  ['that tells a secret', /^the secret/, (_, response) => void response.end(SECRET)],
  [
    'that tells of its inside',
    /^words from inside/,
    (_, response) =>
      void response.writeHead(400).end('<?xml version="1.0"?><Error>at run (/srv/dist/src/main.js:1)</Error>'),
  ],
  [
    'that answers in no document',
    /^an error that is no document/,
    (_, response) => void response.writeHead(400).end('oh'),
  ],
]

for (const [what, problem, bad] of BAD) {
  test(`a server ${what} is caught, and what was sent is kept`, async () => {
    const { failures, failed } = await campaignAgainst(bad, bad === silent ? IMPATIENT_MS : PATIENT_MS)
    assert(failed > 5, `${failed} failures`)
    for (const failure of failures) assert.match(failure.problem, problem)
  })
}

test('responses are parsed as they arrive, and invalid ones are reported', () => {
  const wire = Buffer.from(
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc' +
      'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' +
      '2\r\nde\r\n1\r\nf\r\n0\r\n\r\nHTTP/1.1 400 Bad\r\nConnection: close\r\n\r\nto the end',
  )
  const reader = new AnswerReader(['GET', 'HEAD', 'GET', 'GET'])
  for (const byte of wire) reader.push(Buffer.from([byte]))
  reader.end()
  const seen = reader.answers.map(({ status, body, closes }) => `${status} ${body} ${closes}`)
  assert.deepEqual(seen, ['200 abc false', '200  false', '200 def false', '400 to the end true'])
  assert.throws(() => new AnswerReader(['GET']).push(Buffer.from('nonsense\r\n\r\n')), NoAnswer)
})

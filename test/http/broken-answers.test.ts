/**
 * A truncated response never looks complete: for every kind of body, time of failure and kind of connection. The
 * expectations are in failure-matrix.ts, which is also the table in the documentation.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIALECTS } from '../../src/edge/dialect.ts'
import type { Exchange } from '../../src/edge/exchange.ts'
import { Listener } from '../../src/edge/listener.ts'
import { RequestState } from '../../src/edge/request-state.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { gate } from '../store/fixture.ts'
import { TEST_CERTIFICATE } from './certificate.ts'
import { asking, CONNECTIONS, exchangeRaw, judged, open, received, TRANSPORTS, type Transport } from './raw-exchange.ts'
import { turn } from './wire.ts'

const LENGTH = 300_000
const NOBODY_LISTENS = { begun() {}, left() {}, decided() {}, ended() {} }

type Moment = 'before headers' | 'after headers' | 'after 1 byte' | 'after 200,000 bytes'
const SENT: Readonly<Record<Moment, number>> = {
  'before headers': 0,
  'after headers': 0,
  'after 1 byte': 1,
  'after 200,000 bytes': 200_000,
}

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await turn()
}

async function* failing(bytes: number, wait: number): AsyncGenerator<Buffer> {
  await turns(wait)
  if (bytes > 0) yield Buffer.alloc(bytes, 'x')
  await turns(wait)
  throw new Error('the disk failed')
}

const outcomeOf = (headers: [string, string][], body: AsyncIterable<Buffer>, close: boolean): RequestState => ({
  ...new RequestState(),
  response: { status: 200, headers, body, close },
  dialect: DIALECTS.s3,
  operationName: 'GetObject',
  resource: '/b/k',
})

/** The path of a request selects how it fails: `/moment/framing/turns/close`. */
async function fail({ request }: Exchange): Promise<RequestState> {
  const [, moment, framing, wait, close, bytes, early] = request.target.split('/').map(decodeURIComponent)
  await turns(Number(wait))
  if (moment === 'held') return heldBack(Number(bytes), early === 'true')
  if (moment === 'whole') return outcomeOf([['content-length', '5']], wholeAfter(Number(wait)), false)
  if (moment === 'before headers') throw new Error('the pipeline failed')
  const headers: [string, string][] = framing === 'length' ? [['content-length', String(LENGTH)]] : []
  return outcomeOf(headers, failing(SENT[moment as Moment], Number(wait)), close === 'true')
}

/** Pauses in the middle of its response until the test continues it. */
let [held, came] = [gate(), gate()]

async function heldBack(bytes: number, early: boolean): Promise<RequestState> {
  const wait = async (): Promise<void> => {
    await turns(3)
    came.open()
    await held.opened
  }
  if (early) await wait()
  const body = async function* (): AsyncGenerator<Buffer> {
    if (bytes > 0) yield Buffer.alloc(bytes, 'x')
    if (!early) await wait()
    yield Buffer.alloc(LENGTH - bytes, 'x')
  }
  return outcomeOf([['content-length', String(LENGTH)]], body(), false)
}

async function* wholeAfter(wait: number): AsyncGenerator<Buffer> {
  yield Buffer.from('wh')
  await turns(wait * 10)
  yield Buffer.from('ole')
}

async function withListener(transport: Transport, use: (port: number, listener: Listener) => Promise<void>) {
  const listener = new Listener({
    pipeline: { handle: fail },
    clock: systemClock,
    random: systemRandom,
    recorder: NOBODY_LISTENS,
    onError: () => {},
    certificate: transport === 'TLS' ? TEST_CERTIFICATE : undefined,
  })
  const { port } = await listener.listen('127.0.0.1', 0)
  try {
    await use(port, listener)
  } finally {
    await listener.abort()
  }
}

const headOf = (...parts: readonly unknown[]): string =>
  `GET /${parts.map(String).map(encodeURIComponent).join('/')} HTTP/1.1\r\nHost: b\r\n\r\n`

for (const transport of TRANSPORTS) {
  for (const moment of Object.keys(SENT) as Moment[]) {
    test(`${transport}: a response that fails ${moment} is never complete`, () =>
      withListener(transport, async port => {
        for (const framing of ['length', 'chunks'] as const) {
          for (const wait of [0, 1, 3]) {
            for (const close of [false, true]) {
              for (const kind of CONNECTIONS) {
                // A body without a length ends with its connection; only XML documents are sent like this.
                if (kind === 'HTTP/1.0' && framing === 'chunks' && SENT[moment] > 0) continue
                const request = asking(headOf(moment, framing, wait, close), kind)
                const answer = await exchangeRaw(port, transport, request)
                const why = `${framing}, ${wait} turns, ${kind}, close ${close}: ${answer.status} ${answer.kind}`
                assert(answer.kind === 'nothing' || answer.kind === 'incomplete', why)
                assert(SENT[moment] > 0 || answer.kind === 'nothing', why)
              }
            }
          }
        }
      }))
  }

  test(`${transport}: earlier responses on the same connection are complete`, () =>
    withListener(transport, async port => {
      for (const moment of Object.keys(SENT) as Moment[]) {
        const socket = await open(port, transport)
        socket.write(headOf('whole', 'length', 3, false) + headOf(moment, 'length', 1, false))
        const seen = await received(socket)
        const first = judged(seen)
        assert.deepEqual([first.status, first.kind], [200, 'complete'], moment)
        assert.equal(first.body.subarray(0, 5).toString(), 'whole')
        const second = judged(first.body.subarray(5))
        assert(second.kind === 'nothing' || second.kind === 'incomplete', `${moment}: ${second.kind}`)
      }
    }))

  for (const way of ['abort', 'endBusy'] as const) {
    for (const moment of ['before headers', 'after headers', 'after 1 byte'] as const) {
      test(`${transport}: a server that stops (${way}) completes no partial response, ${moment}`, () =>
        withListener(transport, async (port, listener) => {
          held = gate()
          came = gate()
          const socket = await open(port, transport)
          socket.write(headOf('held', 'length', 1, false, SENT[moment], moment === 'before headers'))
          const all = received(socket)
          await came.opened
          listener[way]()
          held.open()
          assert.notEqual(judged(await all).kind, 'complete')
        }))
    }
  }
}

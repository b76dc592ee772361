/** Responses with a header that cannot be sent: their connection closes, and nothing else does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIALECTS } from '../../src/edge/dialect.ts'
import type { Exchange, WireResponse } from '../../src/edge/exchange.ts'
import { Listener } from '../../src/edge/listener.ts'
import { RequestState } from '../../src/edge/request-state.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { StagedStream } from '../../src/lib/piece-stream.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { open, received } from './raw-exchange.ts'

const UNSENDABLE: [string, string][] = [['x-amz-meta-name', 'a\nb']]

async function withPipeline(
  handle: (exchange: Exchange) => Promise<WireResponse>,
  use: (port: number, errors: unknown[]) => Promise<void>,
  onSocket = false,
): Promise<void> {
  const errors: unknown[] = []
  const listener = new Listener({
    pipeline: {
      handle: async exchange => ({
        ...new RequestState(),
        dialect: DIALECTS.s3,
        response: await handle(exchange),
      }),
      ...(onSocket && { readImmediately: () => undefined }),
    },
    clock: systemClock,
    random: systemRandom,
    recorder: { begun() {}, left() {}, decided() {}, ended() {} },
    onError: error => errors.push(error),
  })
  const { port } = await listener.listen('127.0.0.1', 0)
  try {
    await use(port, errors)
  } finally {
    await listener.abort()
  }
}

async function get(port: number): Promise<string> {
  const socket = await open(port, 'plain')
  socket.write('GET /k HTTP/1.1\r\nHost: b\r\n\r\n')
  return (await received(socket)).toString()
}

for (const [title, onSocket] of [
  ['', false],
  [' on the socket as well', true],
] as const) {
  test(`a body whose head cannot be sent is given up${title}`, async () => {
    let givenUp = 0
    const body = new StagedStream(() => ({
      read: () => undefined,
      cancel: () => {
        givenUp++
      },
    }))
    await withPipeline(
      async () => ({ status: 200, headers: UNSENDABLE, body, close: false }),
      async (port, errors) => {
        assert.equal(await get(port), '')
        assert.equal(givenUp, 1)
        assert.equal(errors.length, 1)
      },
      onSocket,
    )
  })
}

test('an early response whose head cannot be sent fails its own request alone', () =>
  withPipeline(
    async exchange => {
      await new Promise<void>(resolve =>
        setTimeout(() => {
          resolve()
          exchange.beginEarly({ status: 200, headers: UNSENDABLE, body: undefined, close: false }, DIALECTS.s3)
        }, 1),
      )
      return { status: 200, headers: [], body: Buffer.from('<Result/>'), close: false }
    },
    async (port, errors) => {
      assert.equal(await get(port), '')
      assert.equal(errors.length, 1)
    },
  ))

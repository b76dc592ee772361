/** The console does not wait forever for a client that requests a long response and stops reading. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { RouteTable, route } from '../../src/admin/route.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { signedHeaders, withConsole } from './fixture.ts'

const PATH = '/v1/long'
const PIECE = Buffer.alloc(2 ** 20, 'x')
const UNTAKEN_MS_MAX = 60_000

/** A response of this many chunks, and whether its source was released. */
function longAnswer(pieces: number) {
  const seen = { pieces: 0, ended: false }
  async function* bytes(): AsyncGenerator<Buffer> {
    try {
      for (; seen.pieces < pieces; seen.pieces++) yield PIECE
    } finally {
      seen.ended = true
    }
  }
  const declared = route({
    name: 'ReadLong',
    method: 'GET',
    path: PATH,
    summary: 'Something long',
    permission: 'admin',
    input: {},
    run: async () => ({ contentType: 'application/octet-stream', bytes: bytes() }),
  })
  return { seen, routes: new RouteTable([declared]) }
}

async function asked(port: number, now: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').pause()
  socket.on('error', () => {})
  await once(socket, 'connect')
  const host = `127.0.0.1:${port}`
  const headers = { host, connection: 'close', ...signedHeaders({ path: PATH }, '', host, now) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${PATH} HTTP/1.1\r\n${lines.join('')}\r\n`)
  return socket
}

test('A48: an answer that its client stops taking is given up after a minute, and let go of', {
  timeout: 60_000,
}, () => {
  const clock = new ManualClock()
  const { seen, routes } = longAnswer(Number.POSITIVE_INFINITY)
  return withConsole(
    async ({ port }) => {
      const socket = await asked(port, clock.now())
      const closed = once(socket, 'close')
      // The socket buffers of both sides fill up first.
      for (let before = -1; seen.pieces === 0 || before < seen.pieces; ) {
        before = seen.pieces
        for (let i = 0; i < 200; i++) await turn()
      }
      clock.move(UNTAKEN_MS_MAX - 1)
      for (let i = 0; i < 200; i++) await turn()
      assert.equal(seen.ended, false, 'not before its time')
      // At once, unless a busy machine has only now accepted pending bytes: then the timeout restarts.
      for (; !seen.ended; clock.move(1)) await turn()
      socket.resume()
      await closed
    },
    { clock, routes },
  )
})

test('a response is not cut off while its client keeps reading', { timeout: 60_000 }, () => {
  /** Each wait advances the clock by nearly the whole timeout. */
  class HurriedClock extends ManualClock {
    waits = 0

    override after(ms: number, call: () => void): () => void {
      const stop = super.after(ms, call)
      this.waits++
      queueMicrotask(() => this.move(UNTAKEN_MS_MAX - 1))
      return stop
    }
  }
  const clock = new HurriedClock()
  const pieces = 20
  const { seen, routes } = longAnswer(pieces)
  return withConsole(
    async ({ port }) => {
      const socket = await asked(port, clock.now())
      let bytes = 0
      socket.on('data', chunk => {
        bytes += chunk.length
      })
      socket.resume()
      await once(socket, 'close')
      assert.deepEqual([seen.pieces, seen.ended, bytes > pieces * PIECE.length], [pieces, true, true])
      assert(clock.waits > 1, 'it was waited for')
    },
    { clock, routes },
  )
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { HoldableInput } from './holdable-input.ts'
import { withSharedBuffer } from './shared-buffer-socket.ts'

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** A connection without TLS, and its client. */
async function connected(use: (served: Socket, client: Socket) => Promise<void>): Promise<void> {
  const server = createServer({ allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepting = once(server, 'connection') as Promise<[Socket]>
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [accepted] = await accepting
  const served = withSharedBuffer(accepted)
  served.on('error', () => {})
  try {
    await use(served, client)
  } finally {
    for (const socket of [served, client]) socket.destroy()
    server.close()
  }
}

/** A stream, and the pieces that its listener has got. */
function scene() {
  const stream = new PassThrough({ highWaterMark: 4 })
  const taken: string[] = []
  const input = new HoldableInput(stream as unknown as Socket, bytes => taken.push(bytes.toString()))
  return { stream, taken, input }
}

test('bytes that arrive while they are held are taken once they are released, in their order', async () => {
  const { stream, taken, input } = scene()
  stream.write('a')
  await turn()
  input.hold()
  for (const text of ['b', 'c']) stream.write(text)
  await turn()
  assert.deepEqual(taken, ['a'])
  assert.equal(stream.isPaused(), true)
  input.release()
  await turn()
  assert.equal(taken.join(''), 'abc')
  stream.write('d')
  await turn()
  assert.equal(taken.join(''), 'abcd')
})

test('no more than a piece is held, also where the stream is resumed meanwhile', async () => {
  const { stream, taken, input } = scene()
  input.hold()
  stream.write('a')
  await turn()
  stream.write('b')
  await turn()
  assert.equal(stream.readableLength, 1)
  stream.resume()
  await turn()
  assert.equal(stream.isPaused(), true)
  assert.equal(input.stop()?.toString(), 'ab')
  assert.deepEqual(taken, [])
})

test('a listener that is stopped gets nothing more', async () => {
  const { stream, taken, input } = scene()
  assert.equal(input.stop(), undefined)
  stream.write('a')
  await turn()
  assert.deepEqual(taken, [])
})

test('a client that disconnects is noticed while its bytes are held', () =>
  connected(async (served, client) => {
    const input = new HoldableInput(served, () => {})
    input.hold()
    const closed = new Promise(resolve => served.once('close', resolve))
    client.resetAndDestroy()
    assert.equal(await closed, true)
  }))

test('nothing is taken from a connection that is gone', () =>
  connected(async (served, client) => {
    const taken: string[] = []
    const input = new HoldableInput(served, bytes => taken.push(bytes.toString()))
    input.hold()
    const paused = once(served, 'pause')
    client.write('late')
    await paused
    served.destroy()
    input.release()
    assert.deepEqual(taken, [])
  }))

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { REPORTS_WRITTEN_BYTES } from '../lib/runtime.ts'
import { onBytes, withSharedBuffer } from './shared-buffer-socket.ts'

/** Bun has no such handles. */
const options = { skip: REPORTS_WRITTEN_BYTES ? false : 'reads into one buffer are for Node' }

interface Pair {
  readonly client: Socket
  readonly served: Socket
}

async function connected(server: Server): Promise<Pair> {
  const accepting = once(server, 'connection') as Promise<[Socket]>
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [accepted] = await accepting
  return { client, served: withSharedBuffer(accepted) }
}

async function withServer(use: (server: Server) => Promise<void>): Promise<void> {
  const server = createServer({ allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await use(server)
  server.close()
  await once(server, 'close')
}

const next = (socket: Socket): Promise<{ bytes: Buffer; text: string }> =>
  new Promise(resolve => {
    const end = onBytes(socket, bytes => {
      end()
      resolve({ bytes, text: bytes.toString() })
    })
  })

test('connections read into the same memory, each its own bytes', options, () =>
  withServer(async server => {
    const [one, other] = [await connected(server), await connected(server)]
    const [first, second] = [next(one.served), next(other.served)]
    one.client.write('first')
    assert.equal((await first).text, 'first')
    other.client.write('second')
    assert.equal((await second).text, 'second')
    assert.equal((await first).bytes.buffer, (await second).bytes.buffer)
    for (const { client, served } of [one, other]) {
      served.destroy()
      client.destroy()
    }
  }),
)

test('a server counts such a connection once, until it has closed', options, () =>
  withServer(async server => {
    const count = (): Promise<number> =>
      new Promise((resolve, reject) => {
        server.getConnections((error, connections) => (error ? reject(error) : resolve(connections)))
      })
    const { client, served } = await connected(server)
    assert.equal(await count(), 1)
    const closed = once(served, 'close')
    client.end()
    await once(served, 'end')
    served.end('bye')
    client.resume()
    await closed
    assert.equal(await count(), 0)
  }),
)

test('nothing is read while a connection is paused', options, () =>
  withServer(async server => {
    const { client, served } = await connected(server)
    const texts: string[] = []
    onBytes(served, bytes => texts.push(bytes.toString()))
    served.pause()
    client.write('late')
    const { client: other, served: neighbour } = await connected(server)
    const met = next(neighbour)
    other.write('now')
    await met
    assert.deepEqual(texts, [])
    served.resume()
    const rest = next(served)
    assert.equal((await rest).text, 'late')
    for (const socket of [client, served, other, neighbour]) socket.destroy()
  }),
)

test('a stream without such a handle is used as it is', () => {
  const stream = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() }) as Socket
  assert.equal(withSharedBuffer(stream), stream)
  const texts: string[] = []
  const end = onBytes(stream, bytes => texts.push(bytes.toString()))
  stream.emit('data', Buffer.from('one'))
  end()
  stream.emit('data', Buffer.from('two'))
  assert.deepEqual(texts, ['one'])
})

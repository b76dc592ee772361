import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import pg from 'pg'
import { int8 } from './binary-values.ts'
import { PostgresConnection, wasRefused } from './connection.ts'
import type { RowReader } from './row-reader.ts'

const message = (type: string, body: Buffer | string = ''): Buffer => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(Buffer.byteLength(body) + 4)
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body)])
}
const row = (value: number): Buffer => message('D', Buffer.concat([Buffer.from([0, 1, 0, 0, 0, 8]), int8(value)]))

const SYNC = Buffer.from('S\0\0\0\x04')
const PARSED = message('1')
const BOUND = message('2')
const DONE = Buffer.concat([message('C', 'SELECT 1\0'), message('Z', 'I')])
const error = (code: string): Buffer => message('E', `SERROR\0C${code}\0Mrefused\0\0`)

/** The answer to a statement, or what the server does instead. */
type Answer = readonly Buffer[] | ((socket: Socket) => void)

/** A connection to a server that accepts everyone and answers its statements with these, one after the other. */
async function withServer(
  answers: readonly Answer[],
  body: (connection: PostgresConnection, received: () => string, client: pg.Client) => Promise<void>,
): Promise<void> {
  let statements = 0
  let received = Buffer.alloc(0)
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', '\0\0\0\0'), message('Z', 'I')]))
      socket.on('data', data => {
        received = Buffer.concat([received, data])
        if (!received.subarray(-SYNC.length).equals(SYNC)) return
        const answer = answers[statements++]
        if (typeof answer === 'function') answer(socket)
        else socket.write(Buffer.concat(answer!))
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'someone', password: 'none', database: 'any' })
  const connection = new PostgresConnection(client)
  try {
    await client.connect()
    await body(connection, () => received.toString('latin1'), client)
  } finally {
    connection.lose()
    server.close()
    await once(server, 'close')
  }
}

const numbers = { name: 'numbers', text: 'SELECT n', values: [], decode: (fields: RowReader) => fields.int8() }

test('rows are those of their statement, and a statement is prepared once', () =>
  withServer(
    [
      [PARSED, BOUND, row(1), message('N', 'SNOTICE\0C00000\0Mnotice\0\0'), row(2), DONE],
      [BOUND, DONE],
      [BOUND, row(3), DONE],
    ],
    async (connection, received) => {
      assert.deepEqual(await connection.query(numbers), [1, 2])
      assert.deepEqual(await connection.query(numbers), [])
      assert.deepEqual(await connection.query(numbers), [3])
      assert.equal(received().split('SELECT n').length, 2)
      assert.equal(connection.lost, false)
    },
  ))

test('an error after rows refuses the statement and leaves the connection to others', () =>
  withServer(
    [
      [PARSED, BOUND, row(1), error('57014'), message('Z', 'I')],
      [BOUND, row(2), DONE],
    ],
    async connection => {
      await assert.rejects(connection.query(numbers), failure => wasRefused(failure))
      assert.deepEqual(await connection.query(numbers), [2])
      assert.equal(connection.lost, false)
    },
  ))

test('a statement that could not be prepared is prepared again', () =>
  withServer(
    [
      [error('42601'), message('Z', 'I')],
      [PARSED, BOUND, row(1), DONE],
    ],
    async (connection, received) => {
      await assert.rejects(connection.query(numbers), { code: '42601' })
      assert.deepEqual(await connection.query(numbers), [1])
      assert.equal(received().split('SELECT n').length, 3)
    },
  ))

test('statements that are begun together get their own rows', () =>
  withServer(
    [
      [PARSED, BOUND, row(1), DONE],
      [BOUND, row(2), row(3), DONE],
    ],
    async connection => {
      assert.deepEqual(await Promise.all([connection.query(numbers), connection.query(numbers)]), [[1], [2, 3]])
    },
  ))

test('a socket that breaks while a statement is sent leaves the outcome open', () =>
  withServer([() => {}], async (connection, _, client) => {
    const broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' })
    const query = connection.query(numbers)
    client.connection.stream.destroy(broken)
    await assert.rejects(query, failure => failure === broken && !wasRefused(failure))
    assert.equal(connection.lost, true)
  }))

const CUTS: readonly (readonly [string, Buffer])[] = [
  ['in the middle of a row', row(2).subarray(0, 9)],
  ['in the middle of a length', row(2).subarray(0, 3)],
  ['after the last row', row(2)],
  ['before the server is ready', Buffer.concat([row(2), message('C', 'SELECT 2\0')])],
]
for (const [when, last] of CUTS) {
  test(`a connection that ends ${when} leaves the outcome open`, () =>
    withServer([socket => socket.end(Buffer.concat([PARSED, BOUND, row(1), last]))], async connection => {
      await assert.rejects(connection.query(numbers), failure => !wasRefused(failure))
      assert.equal(connection.lost, true)
    }))
}

test('a server that ends the connection with an error leaves the outcome open', () =>
  withServer([[PARSED, BOUND, row(1), error('57P01')]], async connection => {
    await assert.rejects(connection.query(numbers), failure => !wasRefused(failure))
    assert.equal(connection.lost, true)
  }))

test('a row of an unexpected form, or a malformed message, loses the connection', async () => {
  const short = message('D', Buffer.from([0, 1, 0, 0, 0, 2, 1, 1]))
  for (const bad of [short, Buffer.from('D\0\0\0\x02')]) {
    await withServer([[PARSED, BOUND, row(1), bad, DONE]], async connection => {
      await assert.rejects(connection.query(numbers), failure => !wasRefused(failure))
      assert.equal(connection.lost, true)
    })
  }
})

test('a row that nobody has asked for loses the connection', () =>
  withServer([[PARSED, BOUND, row(1), DONE, row(2)]], async connection => {
    await connection.query(numbers)
    while (!connection.lost) await new Promise(resolve => setImmediate(resolve))
  }))

/** Plain reads that are answered on the socket: what their clients and disks may do meanwhile. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { TIMEOUTS } from '../../src/http/timeouts.ts'
import { bothExchange, type Compared, comparable, type Request, withComparison } from './compared-listeners.ts'
import { bothAnswerOneByOne, get, ON_NODE, put, statuses, VARIANTS } from './one-connection.ts'
import { asking, open, received, type Transport } from './raw-exchange.ts'
import type { Served } from './server.ts'
import { turn, until, Wire } from './wire.ts'

test('a client that ends its side after a request gets the whole response', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const part: Partial<Request> = { headers: [['range', 'bytes=1-600000']] }
    const last = [
      [get(served, 'packed'), 1],
      [get(served, 'long'), 1],
      [get(served, 'long', part), 0],
      [put(served, 'x'.repeat(70_000)), 0],
    ] as const
    for (const [request, onSocket] of last) {
      const ending = async (_: Compared, port: number): Promise<string> => {
        const socket = await open(port, 'plain')
        socket.end(request)
        return comparable(await received(socket))
      }
      const answer = await bothExchange(compared, '', ending)
      assert.match(answer, /^HTTP\/1\.1 20[06] /)
      const [length] = /(?<=^content-length: )\d+/im.exec(answer) ?? []
      assert.equal(answer.slice(answer.indexOf('\r\n\r\n') + 4).length, Number(length))
      assert.equal(compared.answeredOnSocket, onSocket)
    }
  }),
)

/** Reads of blobs that wait until they are let go. */
function delayed({ parts }: Served): { release(): void; restore(): void; readonly waiting: number } {
  const { blobs } = parts.store.context
  const readAtOnce = blobs.readAtOnce.bind(blobs)
  const waits: (() => void)[] = []
  blobs.readAtOnce = async (...args) => {
    await new Promise<void>(resolve => waits.push(resolve))
    return readAtOnce(...args)
  }
  return {
    release() {
      for (const go of waits.splice(0)) go()
    },
    restore: () => Object.assign(blobs, { readAtOnce }),
    get waiting() {
      return waits.length
    },
  }
}

test('a request behind one whose bytes are being read waits for it', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const reads = delayed(served)
    const wire = await Wire.open(compared.ports[0])
    wire.write(get(served, 'packed'))
    assert(await until(() => reads.waiting === 1))
    wire.write(get(served, 'small'), get(served, 'missing'))
    for (let turns = 0; turns < 50; turns++) await turn()
    assert.equal(wire.hasAnswer, false)
    reads.release()
    assert.equal((await wire.answer())?.body.length, 100_000)
    assert.equal((await wire.answer())?.body.toString(), 'abc')
    assert.equal((await wire.answer())?.code, 'NoSuchKey')
    reads.restore()
    wire.socket.destroy()
  }),
)

test('long bodies that wait in memory are limited in number; others are streams', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const reads = delayed(served)
    const wires: Wire[] = []
    for (let count = 0; count < 32; count++) {
      const wire = await Wire.open(compared.ports[0])
      wires.push(wire.write(get(served, 'long')))
    }
    assert(await until(() => reads.waiting === 32))
    const next = await Wire.open(compared.ports[0])
    assert.equal((await next.write(get(served, 'long')).answer())?.body.length, 700_000)
    assert.equal(reads.waiting, 32)
    reads.release()
    for (const wire of wires) assert.equal((await wire.answer())?.body.length, 700_000)
    assert.equal(compared.answeredOnSocket, 33)
    reads.restore()
    const after = await Wire.open(compared.ports[0])
    assert.equal((await after.write(get(served, 'long')).answer())?.status, 200)
    assert.equal(compared.answeredOnSocket, 34)
    for (const { socket } of [...wires, next, after]) socket.destroy()
  }),
)

test('a read that fails is answered by the pipeline, on the same connection', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const { blobs } = served.parts.store.context
    const { read, readAtOnce } = blobs
    const broken = async (): Promise<never> => {
      throw Object.assign(new Error('input/output error'), { code: 'EIO' })
    }
    const brokenStream = (): never => {
      throw Object.assign(new Error('input/output error'), { code: 'EIO' })
    }
    Object.assign(blobs, { read: brokenStream, readAtOnce: broken })
    const answers = await bothAnswerOneByOne(compared, [get(served, 'packed'), get(served, 'small')])
    assert.deepEqual(statuses(answers), ['500', '200'])
    Object.assign(blobs, { read, readAtOnce })
  }),
)

test('a client that goes away while its bytes are read takes nothing with it', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const reads = delayed(served)
    const wire = await Wire.open(compared.ports[0])
    wire.write(get(served, 'packed'))
    assert(await until(() => reads.waiting === 1))
    wire.socket.resetAndDestroy()
    for (let turns = 0; turns < 50; turns++) await turn()
    reads.release()
    assert(await until(() => compared.metrics[0].samples()[0]![2] === 0))
    assert.equal(compared.readers.count, 0)
    reads.restore()
  }),
)

test('an idle connection is closed after its time, and by a server that stops', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const [listener] = compared.listeners
    const [unused, used] = [await Wire.open(compared.ports[0]), await Wire.open(compared.ports[0])]
    used.write(get(served, 'small'))
    assert.equal((await used.answer())?.status, 200)
    served.clock.move(TIMEOUTS.firstBytesMs)
    listener.endOverdue()
    assert(await until(() => unused.isClosed))
    served.clock.move(TIMEOUTS.keepAliveMs - TIMEOUTS.firstBytesMs - 1)
    listener.endOverdue()
    used.write(get(served, 'small'))
    assert.equal((await used.answer())?.status, 200)
    served.clock.move(TIMEOUTS.keepAliveMs - 1)
    listener.endOverdue()
    used.write(get(served, 'small'))
    assert.equal((await used.answer())?.status, 200)
    const closing = listener.close()
    assert(await until(() => used.isClosed))
    await closing
  }),
)

/** Responses that a client has not read, until the connection takes no more. */
async function unread(compared: Compared, served: Served, transport: Transport): Promise<[Socket, requests: number]> {
  const socket = await open(compared.ports[0], transport)
  socket.pause()
  compared.answered = 0
  const inFlight = (): number => compared.metrics[0].samples()[0]![2]
  for (let sent = 1; ; sent++) {
    assert.ok(sent < 1_000, 'the connection takes any amount')
    socket.write(get(served, 'packed'))
    assert(await until(() => compared.answered === sent))
    if (transport === 'TLS') for (let turns = 0; turns < 5; turns++) await turn()
    if (inFlight() > 0) return [socket, sent]
  }
}

const PACKED_BYTES = 100_000

for (const [title, options] of VARIANTS) {
  for (const isHandedOver of [false, true]) {
    const what = isHandedOver ? 'a handover and a server that stops' : 'a server that stops'
    test(`${what} cuts off no response that its client has not read: ${title}`, ON_NODE, () =>
      withComparison(async (compared, served) => {
        const [socket, count] = await unread(compared, served, compared.transport)
        const expected = isHandedOver ? count + 1 : count
        if (isHandedOver) socket.write(get(served, 'packed'))
        assert(await until(() => compared.answered === expected))
        const closing = compared.listeners[0].close()
        checkWhole(await received(socket.resume()), expected)
        await closing
      }, options),
    )
  }

  test(`the last request of a connection is answered whole, however much is unread: ${title}`, ON_NODE, () =>
    withComparison(async (compared, served) => {
      const { transport } = compared
      const [filled, count] = await unread(compared, served, transport)
      filled.destroy()
      // The last response is one that the connection does not take at once, or nearly so.
      for (let before = count - 2; before <= count; before++) {
        const socket = await open(compared.ports[0], transport)
        socket.pause()
        compared.answered = 0
        for (let sent = 0; sent < before; sent++) {
          socket.write(get(served, 'packed'))
          assert(await until(() => compared.answered === sent + 1))
          for (let turns = 0; turns < 5; turns++) await turn()
        }
        socket.write(asking(get(served, 'packed'), 'close'))
        assert(await until(() => compared.answered === before + 1))
        for (let turns = 0; turns < 5; turns++) await turn()
        checkWhole(await received(socket.resume()), before + 1)
      }
    }, options),
  )
}

function checkWhole(all: Buffer, count: number): void {
  assert.equal(statuses(all.toString('latin1')).length, count)
  assert.ok(all.length > count * PACKED_BYTES)
  assert.equal(all.subarray(-PACKED_BYTES).toString('latin1'), 'p'.repeat(PACKED_BYTES))
}

test('a recorder that throws costs one connection', ON_NODE, () =>
  withComparison(async (compared, served) => {
    for (const side of compared.metrics) Object.assign(side, { ended: () => assert.fail('no room for counters') })
    const wire = await Wire.open(compared.ports[0])
    wire.write(get(served, 'small'))
    assert(await until(() => wire.isClosed))
    const errors = compared.logs[0].filter(({ level }) => level === 'error')
    assert.match(String(errors[0]?.error), /no room for counters/)
    assert.equal(compared.metrics[0].samples()[0]![2], 0)
  }),
)

test('a server that stops during a read that fails still answers', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const { blobs } = served.parts.store.context
    const { read, readAtOnce } = blobs
    let fail: (error: Error) => void = () => {}
    const failing = (): never => {
      throw Object.assign(new Error('input/output error'), { code: 'EIO' })
    }
    const waiting = (): Promise<never> =>
      new Promise((_, reject) => {
        fail = reject
        Object.assign(blobs, { readAtOnce: failing })
      })
    Object.assign(blobs, { read: failing, readAtOnce: waiting })
    const wire = await Wire.open(compared.ports[0])
    wire.write(get(served, 'packed'))
    assert(await until(() => blobs.readAtOnce === failing))
    const closing = compared.listeners[0].close()
    fail(new Error('input/output error'))
    assert.equal((await wire.answer())?.status, 500)
    await closing
    Object.assign(blobs, { read, readAtOnce })
  }),
)

test('a client that sends but does not read is cut off, and its requests end', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const wire = await Wire.open(compared.ports[0])
    wire.socket.pause()
    const inFlight = (): number => compared.metrics[0].samples()[0]![2]
    for (let sent = 1; inFlight() === 0; sent++) {
      assert.ok(sent < 1_000, 'the connection takes any amount')
      wire.write(get(served, 'packed'))
      assert(await until(() => compared.answeredOnSocket === sent))
    }
    served.clock.move(TIMEOUTS.responseStallMs)
    compared.listeners[0].endOverdue()
    assert(await until(() => inFlight() === 0))
    wire.socket.resume()
    assert(await until(() => wire.isClosed))
  }),
)

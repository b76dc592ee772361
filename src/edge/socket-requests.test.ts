/** A response on a socket whose client takes it slowly, piece by piece. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { ADMISSION_LIMITS, Admission } from '../http/admission.ts'
import { ClientConnection } from '../http/connection.ts'
import { TIMEOUTS, Timeouts } from '../http/timeouts.ts'
import { ManualClock } from '../lib/clock.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { systemRandom } from '../lib/random.ts'
import type { Exchange } from './exchange.ts'
import { RequestIds } from './request-ids.ts'
import { RequestState } from './request-state.ts'
import { SocketRequests } from './socket-requests.ts'

/** A client that takes one write when it is told to. */
class SlowClient extends Duplex {
  readonly sizes: number[] = []
  text = ''
  #take: (() => void) | undefined

  override _read(): void {}

  override _writev(chunks: { chunk: Buffer | string }[], done: () => void): void {
    this.sizes.push(chunks.reduce((sum, { chunk }) => sum + chunk.length, 0))
    this.text += chunks.map(({ chunk }) => chunk.toString('latin1')).join('')
    this.#take = done
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (chunk.length === 0) done()
    else this._writev([{ chunk }], done)
  }

  /** Of a socket. */
  destroySoon(): void {
    this.end()
  }

  accept(): void {
    const take = this.#take
    this.#take = undefined
    take?.()
  }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

const BODY = Buffer.alloc(2 ** 20, 'b')

const HEAD = 'GET /bucket/key HTTP/1.1\r\nHost: h\r\n\r\n'

interface Begun {
  readonly client: SlowClient
  readonly clock: ManualClock
  readonly timeouts: Timeouts
  readonly handedOver: Buffer[]
}

function answered(body = BODY): RequestState {
  const state = new RequestState()
  state.response = { status: 200, headers: [['content-length', String(body.length)]], body, close: false }
  return state
}

const neverHandled = (_: Exchange): Promise<RequestState> => assert.fail('no step of the pipeline is needed')

type ReadImmediately = (exchange: Exchange) => MaybePromise<RequestState | undefined>

function begin(
  readImmediately: ReadImmediately = () => answered(),
  { handle = neverHandled, request = HEAD }: { handle?: typeof neverHandled; request?: string } = {},
): Begun {
  const clock = new ManualClock(0)
  const timeouts = new Timeouts(clock)
  const client = new SlowClient()
  const handedOver: Buffer[] = []
  const requests = new SocketRequests({
    readImmediately,
    handle,
    recorder: { begun() {}, decided() {}, ended() {}, left() {} },
    admission: new Admission({ ...ADMISSION_LIMITS, requestsMax: 1 }),
    timeouts,
    ids: new RequestIds(systemRandom),
    isSecure: false,
    keepAliveSeconds: 55,
    onError: error => assert.fail(String(error)),
  })
  const connection = new ClientConnection(client as unknown as Socket, timeouts)
  requests.serve(connection, bytes => handedOver.push(bytes))
  client.push(request)
  return { client, clock, timeouts, handedOver }
}

test('each piece of a body has its own time to drain, and no request is read in between', async () => {
  const { client, clock, timeouts, handedOver } = begin()
  await turn()
  client.push('PUT /bucket/key HTTP/1.1\r\n')
  const total = (): number => client.sizes.reduce((sum, size) => sum + size, 0)
  for (let pieces = 0; total() <= BODY.length; pieces++) {
    assert.ok(pieces < 30, 'pieces are too small')
    clock.move(TIMEOUTS.responseStallMs - 1)
    timeouts.check()
    assert.equal(client.destroyed, false)
    assert.equal(handedOver.length, 0)
    client.accept()
    await turn()
  }
  assert.ok(Math.max(...client.sizes.slice(1)) <= 64 * 1024, String(client.sizes))
  client.accept()
  for (let turns = 0; turns < 3; turns++) await turn()
  assert.equal(String(handedOver), 'PUT /bucket/key HTTP/1.1\r\n')
})

test('a client that takes nothing is cut off', async () => {
  const { client, clock, timeouts } = begin()
  await turn()
  client.accept()
  await turn()
  clock.move(TIMEOUTS.responseStallMs)
  timeouts.check()
  assert.equal(client.destroyed, true)
})

test('a request that arrives during a read of the disk comes after the response', async () => {
  let respond = (_state: RequestState): void => {}
  const reading = new Promise<RequestState>(resolve => {
    respond = resolve
  })
  const { client, handedOver } = begin(() => reading)
  await turn()
  client.push('PUT /bucket/key HTTP/1.1\r\n')
  for (let turns = 0; turns < 3; turns++) await turn()
  assert.deepEqual([client.sizes, handedOver], [[], []])
  respond(answered(Buffer.alloc(10)))
  await turn()
  assert.deepEqual([client.sizes.length, handedOver], [1, []])
  client.accept()
  for (let turns = 0; turns < 3; turns++) await turn()
  assert.deepEqual(handedOver.map(String), ['PUT /bucket/key HTTP/1.1\r\n'])
})

test('a request that is handed over after a read of the disk takes along what arrived meanwhile', async () => {
  let giveUp = (): void => {}
  const reading = new Promise<undefined>(resolve => {
    giveUp = () => resolve(undefined)
  })
  const { client, handedOver } = begin(() => reading)
  await turn()
  client.push('next')
  await turn()
  giveUp()
  for (let turns = 0; turns < 3; turns++) await turn()
  assert.deepEqual(handedOver.map(String), [`${HEAD}next`])
})

for (const [title, request, reading] of [
  ['at once', HEAD.replace('Host: h', 'Expect: 100-continue'), () => undefined],
  ['after a read of the disk', HEAD, () => Promise.resolve(undefined)],
] as const) {
  test(`a request that is handed over ${title} has bytes of its own`, async () => {
    const { client, handedOver } = begin(reading, { request })
    client.once('data', (bytes: Buffer) => bytes.fill('x'))
    for (let turns = 0; turns < 3; turns++) await turn()
    assert.deepEqual(handedOver.map(String), [request])
  })
}

test('a request that is over leaves room for the next one', async () => {
  const overLimit: boolean[] = []
  const { client } = begin(({ slot }) => {
    overLimit.push(slot.isOverLimit)
    return answered(Buffer.alloc(1))
  })
  for (let turns = 0; turns < 3; turns++) {
    await turn()
    client.accept()
    await turn()
  }
  client.push(HEAD)
  await turn()
  assert.deepEqual(overLimit, [false, false])
})

test('a response that ends the connection says so', async () => {
  const state = answered(Buffer.alloc(1))
  const { client } = begin(() => Object.assign(state, { response: { ...state.response, close: true } }))
  for (let turns = 0; turns < 3; turns++) {
    await turn()
    client.accept()
  }
  assert.match(client.text, /\r\nconnection: close\r\n/)
  assert.equal(client.writableEnded, true)
})

test('a body is a copy of the bytes that arrived', async () => {
  const read: string[] = []
  const request = 'PUT /bucket/key HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody'
  const handle = async ({ body }: Exchange): Promise<RequestState> => {
    await turn()
    for await (const piece of body) read.push(String(piece))
    return answered(Buffer.alloc(1))
  }
  const { client } = begin(undefined, { handle, request })
  client.once('data', (bytes: Buffer) => bytes.fill('x'))
  for (let turns = 0; turns < 3; turns++) await turn()
  assert.deepEqual(read, ['body'])
})

const NO_BODY = 'HTTP/1.1\r\nContent-Length: 0\r\n'

for (const [title, request, isHere] of [
  ['a batch deletion', `POST /b?delete ${NO_BODY}\r\n`, true],
  ['a completion', `POST /b/k?uploadId=a ${NO_BODY}\r\n`, false],
  ['a completion that looks like a deletion', `POST /b/k?uploadId=a&x=?delete ${NO_BODY}\r\n`, false],
  ['a part', `PUT /b/k?partNumber=1&uploadId=a ${NO_BODY}\r\n`, true],
  ['a copy', `PUT /b/k ${NO_BODY}X-Amz-Copy-Source: b/k\r\n\r\n`, false],
  ['a presigned copy', `PUT /b/k?x-amz-copy-source=b/k ${NO_BODY}\r\n`, false],
  ['the start of a long body', 'PUT /b/k HTTP/1.1\r\nContent-Length: 65536\r\n\r\n', false],
] as const) {
  test(`${isHere ? 'answered on the socket' : 'handed over at once'}: ${title}`, async () => {
    const { handedOver } = begin(undefined, { handle: async () => answered(Buffer.alloc(1)), request })
    await turn()
    assert.deepEqual(handedOver.map(String), isHere ? [] : [request])
  })
}

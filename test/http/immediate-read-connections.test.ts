/** Plain reads share their connections with other requests, and with clients that do not read or go away. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TIMEOUTS } from '../../src/http/timeouts.ts'
import {
  bothExchange,
  type Compared,
  headOf,
  LOCAL,
  PLAIN,
  type Request,
  withComparison,
} from './compared-listeners.ts'
import { asking, open } from './raw-exchange.ts'
import { BASE_HOST, type Served } from './server.ts'
import { turn, until } from './wire.ts'

/** Requests in one write, of which the last closes the connection. */
const together = (...heads: readonly string[]): string => heads.slice(0, -1).join('') + asking(heads.at(-1)!, 'close')

const get = (served: Served, key: string, change: Partial<Request> = {}): string =>
  headOf({ ...PLAIN, target: ['plain', key], ...change }, served)

const write = ({ s3 }: Served, method: string, body = ''): string =>
  s3.head({ method, host: BASE_HOST, path: '/plain/changed', body }) + body

const statuses = (answers: string): string[] => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status!)

/** Requests that each listener has recorded to their end. */
const ended = ({ metrics }: Compared): number[] =>
  metrics.map(one =>
    one.samples().reduce((sum, [name, , value]) => (name === 'holdfast_requests_total' ? sum + value : sum), 0),
  )

test('pipelined requests take effect and are answered in their order', LOCAL, () =>
  withComparison(async (compared, served) => {
    const range: Partial<Request> = { headers: [['range', 'bytes=1-2']] }
    const head: Partial<Request> = { method: 'HEAD' }
    const reads = [
      get(served, 'small', range),
      get(served, 'small'),
      get(served, 'long'),
      get(served, 'empty'),
      get(served, 'packed', head),
      get(served, 'missing'),
      get(served, 'packed'),
      get(served, 'small', head),
    ]
    const before = ended(compared)
    const answers = await bothExchange(compared, together(...reads, ...reads, get(served, 'small')))
    const round = ['206', '200', '200', '200', '200', '404', '200', '200']
    assert.deepEqual(statuses(answers), [...round, ...round, '200'])
    assert.equal(compared.answered, 13)
    assert.deepEqual(
      ended(compared),
      before.map(count => count + 17),
    )
  }),
)

test('a write among pipelined reads waits for those before it, and is seen by those after it', LOCAL, () =>
  withComparison(async (compared, served) => {
    const read = get(served, 'changed')
    const sent = [write(served, 'PUT', 'one'), read, write(served, 'PUT', 'two'), read, write(served, 'DELETE'), read]
    const answers = await bothExchange(compared, together(...sent, get(served, 'small')))
    assert.deepEqual(statuses(answers), ['200', '200', '200', '200', '204', '404', '200'])
    assert.deepEqual(answers.match(/\b(one|two)(?=HTTP)/g), ['one', 'two'])
  }),
)

/** Responses that nobody reads, until they fill the connection. */
const UNREAD = 40

test('a client that reads nothing and leaves takes nothing with it', LOCAL, () =>
  withComparison(async (compared, served) => {
    const { readers } = served.parts.store.context
    const [port] = compared.ports
    const inFlight = (): number => compared.metrics[0].samples()[0]![2]
    for (const key of ['packed', 'long', 'small']) {
      compared.answered = 0
      const socket = await open(port, 'plain')
      socket.on('error', () => {})
      socket.pause()
      socket.write(get(served, key).repeat(UNREAD))
      assert(await until(() => compared.answered > 0))
      for (let turns = 0; turns < 50; turns++) await turn()
      socket.resetAndDestroy()
      assert(await until(() => inFlight() === 0), `${key}: ${inFlight()} requests are still in flight`)
      assert.equal(readers.count, 0)
    }
    await bothExchange(compared, together(get(served, 'long')))
    assert.equal(compared.answered, 1)
  }),
)

test('a client that does not read is cut off', LOCAL, () =>
  withComparison(async (compared, served) => {
    const { clock } = served
    const socket = await open(compared.ports[0], 'plain')
    let isClosed = false
    socket.on('error', () => {})
    socket.on('close', () => {
      isClosed = true
    })
    socket.pause()
    socket.write(get(served, 'long').repeat(UNREAD))
    assert(await until(() => compared.answered > 0))
    const expire = (): void => {
      clock.move(TIMEOUTS.responseStallMs)
      compared.listeners[0].endOverdue()
    }
    assert(await until(() => compared.metrics[0].samples()[0]![2] === 0, expire))
    socket.resume()
    assert(await until(() => isClosed))
  }),
)

test('a server that stops answers what it has begun, and closes', LOCAL, () =>
  withComparison(async (compared, served) => {
    const socket = await open(compared.ports[0], 'plain')
    const answers: Buffer[] = []
    socket.on('data', chunk => answers.push(chunk))
    const closed = new Promise<void>(resolve => socket.on('close', () => resolve()))
    socket.write(get(served, 'long') + get(served, 'small'))
    assert(await until(() => compared.answered === 2))
    await compared.listeners[0].close()
    await closed
    const all = Buffer.concat(answers).toString('latin1')
    assert.deepEqual(statuses(all), ['200', '200'])
    assert.ok(all.endsWith('abc'))
  }),
)

/** Requests that are sent on one connection to each of two listeners. */
import assert from 'node:assert/strict'
import { REPORTS_WRITTEN_BYTES } from '../../src/lib/runtime.ts'
import { TEST_CERTIFICATE } from './certificate.ts'
import { bothExchange, type Compared, comparable, headOf, LOCAL, PLAIN, type Request } from './compared-listeners.ts'
import { open, received } from './raw-exchange.ts'
import { BASE_HOST, type Served } from './server.ts'
import { turn, until } from './wire.ts'

export const ON_NODE = { skip: LOCAL.skip || (!REPORTS_WRITTEN_BYTES && 'only Node lets a socket be handed over') }

export const VARIANTS = [
  ['plain', {}],
  ['TLS', { certificate: TEST_CERTIFICATE }],
] as const

export const get = (served: Served, key: string, change: Partial<Request> = {}): string =>
  headOf({ ...PLAIN, target: ['plain', key], ...change }, served)

export const put = ({ s3 }: Served, body: string): string =>
  s3.head({ method: 'PUT', host: BASE_HOST, path: '/plain/changed', body }) + body

/** Sends each request when the one before is over, and then the end of the connection. */
export const oneByOne =
  (requests: readonly string[]) =>
  async ({ transport, ports, logs, metrics }: Compared, port: number): Promise<string> => {
    const side = port === ports[0] ? 0 : 1
    const socket = await open(port, transport)
    const all = received(socket)
    let isEnded = false
    socket.once('end', () => {
      isEnded = true
    })
    for (const [index, request] of requests.entries()) {
      socket.write(Buffer.from(request, 'latin1'))
      const isOver = (): boolean => logs[side].length > index && metrics[side].samples()[0]![2] === 0
      assert(await until(() => isEnded || socket.destroyed || isOver()))
    }
    socket.end()
    return comparable(await all)
  }

export const bothAnswerOneByOne = (compared: Compared, requests: readonly string[]): Promise<string> =>
  bothExchange(compared, '', oneByOne(requests))

export const statuses = (answers: string): string[] =>
  [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status!)

/** Sends them one after the other, without waiting for responses. */
export const inPieces =
  (pieces: readonly string[]) =>
  async ({ transport }: Compared, port: number): Promise<string> => {
    const socket = await open(port, transport)
    socket.setNoDelay(true)
    const all = received(socket)
    for (const piece of pieces) {
      socket.write(Buffer.from(piece, 'latin1'))
      for (let turns = 0; turns < 3; turns++) await turn()
    }
    return comparable(await all)
  }

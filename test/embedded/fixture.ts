/** Embedded stores for tests, and clients that use the real time only. */
import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { Holdfast, type HoldfastOptions } from '../../src/index.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { canonicalIdOf, ROOT_ACCOUNT_ID } from '../../src/model/account.ts'
import { BASE_HOST, Client, type DialectName, type Received, type Sending, type Who } from '../http/server.ts'

/** A new connection for each request: on a reused one, a runtime may retry by itself. */
const agent = new Agent({ keepAlive: false })

export const BUCKET = 'test-bucket'

export interface Embedded {
  readonly hf: Holdfast
  readonly root: Who
  /** Signed by the root, now. */
  send(what: Sending): Promise<Received>
  /** A client that announces a body and sends none of it; resolves with the end of its connection. */
  stall(key: string): Promise<{ readonly ended: Promise<unknown> }>
  put(key: string, body: Buffer | string): Promise<Received>
  get(key: string): Promise<Received>
}

export async function start(options: HoldfastOptions = {}, dialect: DialectName = 's3'): Promise<Embedded> {
  const hf = await Holdfast.start({ baseHost: BASE_HOST, buckets: [BUCKET], ...options })
  const { accessKeyId: accessKey, secretAccessKey: secretKey } = hf.credentials
  const root = { accessKey, secretKey, accountId: ROOT_ACCOUNT_ID, canonicalId: canonicalIdOf(ROOT_ACCOUNT_ID) }
  const client = (): Client => new Client(dialect, new ManualClock(Date.now()), hf.port, agent)
  const send = (what: Sending): Promise<Received> => client().send({ as: root, bucket: BUCKET, ...what })
  return {
    hf,
    root,
    send,
    async stall(key) {
      const socket = connect(hf.port, '127.0.0.1').on('error', () => {})
      const ended = once(socket, 'close')
      socket.write(client().head({ as: root, bucket: BUCKET, method: 'PUT', path: `/${key}`, announced: 1000 }))
      // Requests are started in the order in which they arrive.
      await once(socket, 'connect')
      await fetch(hf.endpoint)
      return { ended }
    },
    put: (key, body) => send({ method: 'PUT', path: `/${key}`, body }),
    get: key => send({ method: 'GET', path: `/${key}` }),
  }
}

export async function using(
  options: HoldfastOptions,
  use: (embedded: Embedded) => Promise<void>,
  dialect: DialectName = 's3',
): Promise<void> {
  const embedded = await start(options, dialect)
  try {
    await use(embedded)
  } finally {
    await embedded.hf.close()
  }
}

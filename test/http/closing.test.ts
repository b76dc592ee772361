/** A listener that closes: unfinished handshakes end, and nothing of it stays in memory. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { connect as connectSecurely } from 'node:tls'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Listener } from '../../src/edge/listener.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { REPORTS_WRITTEN_BYTES } from '../../src/lib/runtime.ts'
import { listenerFor } from '../../src/server/object-api.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import { TEST_CERTIFICATE } from './certificate.ts'
import { makeBucket, type Served, withServer } from './server.ts'
import { turn, until, Wire } from './wire.ts'

/** After this time the runtime gives up a handshake by itself. */
const HANDSHAKE_MS = 30_000

const ON_NODE = { skip: !REPORTS_WRITTEN_BYTES && 'Bun has an HTTP server of its own' }

async function opened({ parts, clock }: Served, certificate?: typeof TEST_CERTIFICATE): Promise<[Listener, number]> {
  const listener = listenerFor({
    store: parts.store,
    directory: new IdentityCache(parts.store.context, undefined),
    clock,
    random: systemRandom,
    region: 'us-east-1',
    baseHosts: [],
    website: { hosts: [], onBucketHost: false },
    logger: { log() {}, notice() {}, abort() {} },
    sinks: {},
    certificate,
  })
  return [listener, (await listener.listen('127.0.0.1', 0)).port]
}

for (const how of ['close', 'abort'] as const) {
  test(`${how} does not wait for a handshake that was not finished`, ON_NODE, () =>
    withServer(async served => {
      const [listener, port] = await opened(served, TEST_CERTIFICATE)
      const silent = connect(port, '127.0.0.1')
      silent.on('error', () => {})
      await once(silent, 'connect')
      const secure = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false })
      secure.on('error', () => {})
      await once(secure, 'secureConnect')
      // The server has accepted them by the time it answers a later one.
      await once(connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false }), 'secureConnect')
      const since = performance.now()
      await listener[how]()
      assert(await until(() => silent.destroyed && secure.destroyed))
      assert.ok(performance.now() - since < HANDSHAKE_MS / 2)
    }),
  )
}

test('a request in flight is answered with Connection: close', ON_NODE, () =>
  withServer(async served => {
    const { s3 } = served
    const bucket = await makeBucket(s3)
    const [listener, port] = await opened(served)
    const put = { method: 'PUT', host: '127.0.0.1', path: `/${bucket}/k`, body: 'body' }
    const wire = await Wire.open(port)
    wire.write(s3.head({ ...put, headers: [['Expect', '100-continue']] }))
    assert.equal((await wire.answer())?.status, 100)
    const closed = listener.close()
    const answer = await wire.write(put.body).answer()
    assert.deepEqual([answer?.status, answer?.headers.get('connection')], [200, 'close'])
    await wire.closed()
    await closed
  }),
)

test('a listener that was closed is collected', ON_NODE, () =>
  withServer(async served => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const closed: WeakRef<Listener>[] = []
    for (let count = 0; count < 5; count++) {
      const [listener] = await opened(served)
      await listener.close()
      closed.push(new WeakRef(listener))
    }
    const alive = (): number => closed.filter(one => one.deref() !== undefined).length
    // The last one may still be in a register.
    for (let rounds = 0; rounds < 20 && alive() > 1; rounds++) {
      await turn()
      collect()
    }
    assert.ok(alive() <= 1, `${alive()} of 5 are still in memory`)
  }),
)

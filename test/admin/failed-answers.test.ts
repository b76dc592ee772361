/** Console responses whose source fails: an error while that is still possible, otherwise a closed connection. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdminServerParts } from '../../src/admin/admin-server.ts'
import type { BackupLeases } from '../../src/backup/lease.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { CONSOLE, type Failing } from '../failure-matrix.ts'
import { TEST_CERTIFICATE } from '../http/certificate.ts'
import { asking, CONNECTIONS, exchangeRaw, type Judged, TRANSPORTS, type Transport } from '../http/raw-exchange.ts'
import { makeBucket } from '../store/fixture.ts'
import { type Asking, type Consoled, signedHeaders, withConsole } from './fixture.ts'

type Failure = 'none' | 'first' | 'later'

const BROKEN = new Error('the disk failed')
const ID = 'ab'.repeat(16)

const REQUESTS: Readonly<Record<keyof typeof CONSOLE, Asking>> = {
  metrics: { path: '/metrics' },
  ledger: { path: '/v1/ledgers/locked' },
  backupRecords: { path: `/v1/backups/${ID}/records` },
  backupBlobs: { method: 'POST', path: `/v1/backups/${ID}/blobs`, body: { ids: ID } },
  json: { path: '/v1/ledgers/locked/verdict' },
}

class Failures {
  now: Failure = 'none'

  async *bytes(): AsyncGenerator<Buffer> {
    await new Promise(setImmediate)
    if (this.now === 'first') throw BROKEN
    yield Buffer.alloc(100_000, 'b')
    await new Promise(setImmediate)
    if (this.now === 'later') throw BROKEN
    yield Buffer.from('the end')
  }

  parts(transport: Transport): Partial<AdminServerParts> {
    const bytes = (): AsyncGenerator<Buffer> => this.bytes()
    return {
      certificate: transport === 'TLS' ? TEST_CERTIFICATE : undefined,
      backups: { records: bytes, blobs: bytes } as unknown as BackupLeases,
      collectMetrics: async () => {
        await new Promise(setImmediate)
        if (this.now === 'first') throw BROKEN
        return [['holdfast_info', '', 1]]
      },
    }
  }

  /** The head of a ledger, or its entries, cannot be read. */
  hurt({ meta }: Consoled['parts']['store']['context']): void {
    const [get, scan] = [meta.get.bind(meta), meta.scan.bind(meta)]
    meta.get = (key, known) => {
      if (this.now === 'first' && key.equals(recordKey.ledgerHead('locked'))) throw BROKEN
      return get(key, known)
    }
    meta.scan = async (range, limit, reverse) => {
      if (this.now === 'later' && range.start.includes('locked')) throw BROKEN
      return scan(range, limit, reverse)
    }
  }
}

function rawHead(asked: Asking, port: number, now: number): string {
  const body = asked.body === undefined ? '' : JSON.stringify(asked.body)
  const host = `127.0.0.1:${port}`
  const headers = { host, 'content-length': String(body.length), ...signedHeaders(asked, body, host, now) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${asked.method ?? 'GET'} ${asked.path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

function check({ kind, status, body }: Judged, seen: Failing['first'], what: string): void {
  const got = `${what}: ${kind}, ${status}, ${body.length} bytes`
  if (seen === '500') {
    assert(kind === 'complete' && status === 500, got)
    assert.equal(JSON.parse(body.toString()).code, 'InternalError', got)
  } else assert(kind === 'incomplete' || kind === 'nothing', got)
}

for (const transport of TRANSPORTS) {
  test(`${transport}: a failed console response is an error or a reset, never a truncated success`, () => {
    const failures = new Failures()
    return withConsole(async ({ parts, port, clock, log }) => {
      await makeBucket(parts.store, 'locked', 'locked')
      failures.hurt(parts.store.context)
      for (const [name, row] of Object.entries(CONSOLE) as [keyof typeof CONSOLE, Failing][]) {
        for (const failure of ['none', 'first', 'later'] as const) {
          if (failure !== 'none' && row[failure] === '–') continue
          for (const kind of CONNECTIONS) {
            failures.now = failure
            const head = asking(rawHead(REQUESTS[name], port, clock.now()), kind)
            const answer = await exchangeRaw(port, transport, head)
            const what = `${row.body}, ${failure}, ${kind}`
            // An HTTP/1.0 client gets a long response only once it is complete.
            if (failure !== 'none') check(answer, kind === 'HTTP/1.0' ? '500' : row[failure], what)
            else assert(answer.kind === 'complete' && answer.status === 200 && answer.body.length > 0, what)
            const told = log.filter(line => line.status !== undefined).at(-1)
            if (answer.kind === 'complete') assert.equal(told?.status, answer.status, what)
          }
        }
      }
    }, failures.parts(transport))
  })
}

test('a response too long for HTTP/1.0 is refused there and sent over HTTP/1.1', () => {
  async function* endless(): AsyncGenerator<Buffer> {
    for (let n = 0; n < 17; n++) yield Buffer.alloc(2 ** 20)
  }
  const backups = { records: endless, blobs: endless } as unknown as BackupLeases
  return withConsole(
    async ({ port, clock }) => {
      const head = rawHead(REQUESTS.backupRecords, port, clock.now())
      const old = await exchangeRaw(port, 'plain', asking(head, 'HTTP/1.0'))
      assert.deepEqual([old.status, JSON.parse(old.body.toString()).code], [400, 'InvalidRequest'])
      const whole = await exchangeRaw(port, 'plain', head)
      assert.deepEqual([whole.kind, whole.body.length], ['complete', 17 * 2 ** 20])
    },
    { backups },
  )
})

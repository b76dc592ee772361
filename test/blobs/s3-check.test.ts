/** The requirements on another store before blobs are put there. Stores that fail it are made of one that does not. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { prepareS3Store } from '../../src/blobs/s3/s3-blobs.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { placeOf, type StoreBelow, withStoreBelow } from './s3-fixture.ts'

const STORE_ID = Buffer.alloc(16, 7)
const FEW = { retries: { attemptsMax: 2 }, clock: { ...systemClock, sleep: async () => {} } }

/** The answer of a lazy server to a request; undefined passes it on. */
type Lie = (asked: IncomingMessage, answer: ServerResponse) => boolean

/** A server in front of the store that lies. Signatures hold, since the name of the host is passed on. */
async function withLiar(lie: Lie, use: (store: StoreBelow) => Promise<void>): Promise<void> {
  await withStoreBelow(async store => {
    const { port } = new URL(store.hf.endpoint)
    const proxy = createServer((asked, answer) => {
      if (lie(asked, answer)) return
      const { method, url, headers } = asked
      const passed = request({ host: '127.0.0.1', port, method, path: url, headers }, got => {
        answer.writeHead(got.statusCode!, got.headers)
        got.pipe(answer)
      })
      asked.pipe(passed)
    })
    await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
    const endpoint = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    try {
      await use({ ...store, options: { ...store.options, place: placeOf(endpoint) } })
    } finally {
      await new Promise(resolve => proxy.close(resolve))
    }
  }, FEW)
}

const respond = (asked: IncomingMessage, answer: ServerResponse, status: number, body = ''): true => {
  asked.resume()
  asked.on('end', () => answer.writeHead(status, { connection: 'close' }).end(body))
  return true
}

const refuses = (lie: Lie, message: RegExp): Promise<void> =>
  withLiar(lie, async ({ options }) => {
    await assert.rejects(prepareS3Store(options, STORE_ID), { message })
  })

test('a suitable store passes the check, which leaves only its marker', () =>
  withStoreBelow(async ({ options, keys }) => {
    const facts = await prepareS3Store(options, STORE_ID)
    assert.deepEqual(facts, { refusesOverwrites: true, verifies: ['MD5', 'SHA-256'] })
    assert.deepEqual(await keys(), ['store'])
    await prepareS3Store(options, STORE_ID)
  }))

test('a prefix belongs to one store', () =>
  withStoreBelow(async ({ options }) => {
    await prepareS3Store(options, STORE_ID)
    await assert.rejects(prepareS3Store(options, Buffer.alloc(16, 8)), /holds the blobs of another store/)
    await prepareS3Store({ ...options, place: { ...options.place, prefix: 'blobs/b/' } }, Buffer.alloc(16, 8))
  }))

test('a bucket with versioning is refused', () =>
  withStoreBelow(async ({ options, direct }) => {
    const body = Buffer.from('<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>')
    await direct({ method: 'PUT', query: { versioning: '' }, body })
    await assert.rejects(prepareS3Store(options, STORE_ID), /use a bucket without versioning/)
  }))

test('wrong keys and a missing bucket are reported', () =>
  withStoreBelow(async ({ options }) => {
    const key = { ...options.key, secretKey: 'wrong' }
    await assert.rejects(prepareS3Store({ ...options, key }, STORE_ID), /check HOLDFAST_BLOBS_ACCESS_KEY/)
    const place = { ...options.place, bucket: 'elsewhere' }
    await assert.rejects(prepareS3Store({ ...options, place }, STORE_ID), /create bucket elsewhere/)
  }, FEW))

test('a store that accepts wrong checksums is refused', () =>
  refuses((asked, answer) => {
    const { headers, method } = asked
    const isWrong =
      String(headers['content-md5']).startsWith('AAAA') || /^0{64}$/.test(String(headers['x-amz-content-sha256']))
    return method === 'PUT' && isWrong && respond(asked, answer, 200)
  }, /accepts uploads whose checksums do not match/))

test('a store that lists late is refused', () => {
  const empty = '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>'
  const lie: Lie = (asked, answer) => /list-type/.test(asked.url!) && respond(asked, answer, 200, empty)
  return refuses(lie, /just stored is not listed/)
})

test('a store that still returns what was replaced is refused', () => {
  let puts = 0
  const lie: Lie = (asked, answer) => asked.method === 'PUT' && ++puts > 1 && respond(asked, answer, 200)
  return refuses(lie, /just replaced reads as before/)
})

test('a store that ignores ranges is refused', () => {
  const lie: Lie = (asked, answer) =>
    asked.headers.range !== undefined && respond(asked, answer, 200, 'the first bytes of this object')
  return refuses(lie, /did not answer a range request with that range/)
})

test('a store that does not list uploads is refused', () => {
  const empty = '<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>'
  const lie: Lie = (asked, answer) =>
    asked.method === 'GET' && /uploads=/.test(asked.url!) && respond(asked, answer, 200, empty)
  return refuses(lie, /upload that was just begun is not listed/)
})

test('a store that keeps what was removed is refused', () => {
  const lie: Lie = (asked, answer) =>
    asked.method === 'DELETE' && !/uploadId/.test(asked.url!) && respond(asked, answer, 204)
  return refuses(lie, /just removed is still there/)
})

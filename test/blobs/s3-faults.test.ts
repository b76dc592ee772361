/** Blobs in an S3 store that fails: nothing is acknowledged that is not stored, and nothing wrong is read. */
import assert from 'node:assert/strict'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type Blobs, DiskFull } from '../../src/blobs/blobs.ts'
import type { FaultEffect } from '../../src/embedded/api.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { EngineUnavailable } from '../../src/lib/engine-unavailable.ts'
import { fewOrAll } from '../long.ts'
import { idOf, payload, readAll } from './fixture.ts'
import { BELOW_PREFIX, collected, placeOf, type StoreBelow, withStoreBelow } from './s3-fixture.ts'

const FEW = { retries: { attemptsMax: 4 }, clock: { ...systemClock, sleep: async () => {} } }
const SOLO = 2 * 2 ** 20
const LONG = 12 * 2 ** 20
const SIZES = [9000, SOLO, LONG]

const below = (use: (below: StoreBelow) => Promise<void>): Promise<void> => withStoreBelow(use, FEW)
const isUnavailable = (error: unknown): boolean => error instanceof EngineUnavailable

const uploads = async ({ direct }: StoreBelow): Promise<number> => {
  const { body } = await direct({ method: 'GET', query: { uploads: '' } })
  return [...body.toString().matchAll(/<UploadId>/g)].length
}

async function roundTrip(blobs: Blobs, size: number): Promise<void> {
  const location = await blobs.write(idOf(size), [payload(size)])
  assert(payload(size).equals(await readAll(blobs, idOf(size), location)))
}

const TRANSIENT: readonly FaultEffect[] = ['slow-down', 'internal-error', 'lost-answer', { cutAfter: 10 }]

/** Only an upload in parts sends POST requests. */
for (const [method, few] of [
  ['PUT', [9000, SOLO]],
  ['POST', [LONG]],
  ['GET', [9000, SOLO]],
] as const) {
  test(`${method} requests that fail a few times are repeated until they succeed`, () =>
    below(async store => {
      const sizes = fewOrAll(few, SIZES)
      for (const fault of TRANSIENT) {
        // A request without a body is cut before its answer.
        const injected = store.hf.faults.add({ match: { method }, times: 3, fault })
        for (const size of sizes) await roundTrip(store.blobs, size)
        assert.equal(injected.hits, 3, `${JSON.stringify(fault)} was met`)
        store.hf.faults.clear()
        for (const size of sizes) {
          await store.blobs.remove(idOf(size), { volume: undefined, offset: 0, length: size, frameBytes: 65536 })
        }
      }
      assert.equal(await uploads(store), 0, 'no upload is left behind')
    }))
}

test('a truncated response is resumed where it ended', () =>
  below(async ({ hf, blobs }) => {
    const bytes = payload(LONG)
    const location = await blobs.write(idOf(1), [bytes])
    const cuts = hf.faults.add({ match: { operation: 'GetObject' }, times: 5, fault: { cutAfter: 1_500_000 } })
    assert(bytes.equals(await readAll(blobs, idOf(1), location)))
    assert.equal(cuts.hits, 5)
  }))

test('a store that keeps failing is unavailable, and nothing is acknowledged', () =>
  below(async store => {
    const { hf, blobs } = store
    const locations = []
    for (const [n, size] of SIZES.entries()) locations.push(await blobs.write(idOf(n), [payload(size)]))
    for (const fault of ['slow-down', 'internal-error', 'lost-answer'] as const) {
      hf.faults.add({ fault })
      for (const [n, size] of SIZES.entries()) {
        await assert.rejects(blobs.write(idOf(10 + n), [payload(size)]), isUnavailable)
        await assert.rejects(readAll(blobs, idOf(n), locations[n]!), isUnavailable)
      }
      await assert.rejects(blobs.volumes(), isUnavailable)
      await assert.rejects(collected(blobs.solos()), isUnavailable)
      await assert.rejects(blobs.removeVolume('0102030405a6-9'), isUnavailable)
      hf.faults.clear()
    }
    for (const [n, size] of SIZES.entries()) assert(payload(size).equals(await readAll(blobs, idOf(n), locations[n]!)))
  }))

test('a store that cannot be reached is unavailable', () =>
  withStoreBelow(async ({ hf, blobs }) => {
    const location = await blobs.write(idOf(1), [payload(9000)])
    await hf.close()
    await assert.rejects(readAll(blobs, idOf(1), location), isUnavailable)
    await assert.rejects(blobs.write(idOf(2), [payload(9000)]), /is unavailable: .*ECONNREFUSED/)
  }, FEW))

test('a full store is reported as a full disk', () =>
  below(async ({ hf, blobs }) => {
    hf.faults.add({ fault: 'disk-full' })
    for (const size of SIZES) await assert.rejects(blobs.write(idOf(size), [payload(size)]), DiskFull)
  }))

test('a bucket or a key that is gone is unavailable, not damage', () =>
  below(async ({ blobs, open, options, direct }) => {
    const location = await blobs.write(idOf(1), [payload(9000)])
    const stranger = open({ key: { ...options.key, secretKey: 'wrong' } })
    await assert.rejects(
      readAll(stranger, idOf(1), location),
      /unavailable|refuses: .* check HOLDFAST_BLOBS_ACCESS_KEY/,
    )
    await blobs.removeVolume(location.volume!)
    await direct({ method: 'DELETE' })
    await assert.rejects(readAll(blobs, idOf(1), location), (error: Error) => {
      return isUnavailable(error) && /create bucket below/.test(error.message)
    })
  }))

test('an existing object is not overwritten', () =>
  below(async ({ blobs, open }) => {
    const location = await blobs.write(idOf(1), [payload(9000)])
    const twin = open()
    await assert.rejects(twin.write(idOf(2), [payload(9000, 2)]), /already has an object volumes/)
    await blobs.write(idOf(3), [payload(SOLO)])
    await assert.rejects(twin.write(idOf(3), [payload(SOLO)]), /already has an object solo/)
    assert(payload(9000).equals(await readAll(blobs, idOf(1), location)))
  }))

test('a body that fails leaves neither an object nor an upload', () =>
  below(async store => {
    const failing = async function* (): AsyncGenerator<Buffer> {
      for (let n = 0; n < 12; n++) yield payload(2 ** 20)
      throw new Error('the client is gone')
    }
    await assert.rejects(store.blobs.write(idOf(1), failing()), /the client is gone/)
    assert.deepEqual(await store.keys(), [])
    assert.equal(await uploads(store), 0)
  }))

test('an upload that a dead process left behind is listed among the solo blobs, and removed as one', () =>
  below(async store => {
    const { blobs, direct } = store
    const key = `${BELOW_PREFIX}solo/07/${idOf(7).toString('hex')}`
    await direct({ method: 'POST', key, query: { uploads: '' } })
    await direct({ method: 'POST', key, query: { uploads: '' } })
    const kept = await blobs.write(idOf(8), [payload(LONG)])
    assert.deepEqual(new Set((await collected(blobs.solos())).map(String)), new Set([idOf(7), idOf(8)].map(String)))
    await blobs.remove(idOf(7), { volume: undefined, offset: 0, length: 0, frameBytes: 0 })
    assert.equal(await uploads(store), 0)
    assert(payload(LONG).equals(await readAll(blobs, idOf(8), kept)))
  }))

test('closing waits for writes in progress, and refuses new ones', () =>
  below(async ({ hf, blobs, open }) => {
    hf.faults.add({ match: { method: 'PUT' }, fault: { delay: 50 } })
    const writing = blobs.write(idOf(1), [payload(9000)])
    await blobs.close()
    const location = await writing
    await assert.rejects(blobs.write(idOf(2), [payload(10)]), /closed/)
    assert(payload(9000).equals(await readAll(open(), idOf(1), location)))
  }))

/** Forwards to the store below. Completions are not forwarded: the first gets no response, later ones a false 200. */
async function falseCompletions(endpoint: string): Promise<{ readonly url: string; readonly close: () => void }> {
  let completions = 0
  const proxy = createServer((incoming, outgoing) => {
    const { method, url = '', headers } = incoming
    if (method === 'POST' && url.includes('uploadId=')) {
      if (++completions === 1) incoming.socket.destroy()
      else outgoing.end('<CompleteMultipartUploadResult/>')
      return
    }
    const onward = request(new URL(url, endpoint), { method: method!, headers }, response => {
      outgoing.writeHead(response.statusCode!, response.headers)
      response.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  const close = (): void => {
    proxy.close()
    proxy.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, close }
}

test('a repeated completion that the store acknowledges without storing the object is not believed', () =>
  below(async ({ hf, open }) => {
    const proxy = await falseCompletions(hf.endpoint)
    try {
      const blobs = open({ place: placeOf(proxy.url) })
      await assert.rejects(blobs.write(idOf(1), [payload(LONG)]), /has lost an upload in progress/)
    } finally {
      proxy.close()
    }
  }))

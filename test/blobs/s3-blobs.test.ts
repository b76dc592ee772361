/** Blobs in another S3 store: the objects they become, and what comes back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fewOrAll, shortOrLong } from '../long.ts'
import { asynchronously, cut, idOf, isDamaged, payload, readAll, WRITER } from './fixture.ts'
import { BELOW_PREFIX, collected, withStoreBelow } from './s3-fixture.ts'

const FRAME = 65536
const PACKED_MAX = 2 ** 20
const PART = 5 * 2 ** 20

test('a body comes back as it was, at every border between batch, object and parts', () =>
  withStoreBelow(async ({ blobs }) => {
    const few = [FRAME, 8 * FRAME, PACKED_MAX, PACKED_MAX + FRAME, PART]
    const borders = fewOrAll(few, [...few, PART - 400, 2 * PART])
    const lengths = [0, 1, 4096, ...borders.flatMap(at => [at - 1, at, at + 1]), 2 * PART + 1, 17_000_001]
    for (const [number, length] of lengths.entries()) {
      const bytes = payload(length)
      const location = await blobs.write(idOf(number), asynchronously(cut(bytes, [100_000, 7])))
      assert.equal(location.length, length)
      assert.equal(location.volume === undefined, length > PACKED_MAX)
      assert(bytes.equals(await readAll(blobs, idOf(number), location)), `${length} bytes`)
    }
  }))

test('a range read equals a slice of the body, for packed and solo blobs', () =>
  withStoreBelow(async ({ blobs }) => {
    for (const [number, length] of [5 * FRAME + 9, PACKED_MAX, PART + 3 * FRAME + 1].entries()) {
      const bytes = payload(length)
      const location = await blobs.write(idOf(number), [bytes])
      const few = [0, FRAME - 1, FRAME, 3 * FRAME + 5, length]
      const points = fewOrAll(few, [...few, 1, length - 1])
      for (const start of points) {
        for (const end of points.filter(point => point >= start)) {
          assert(bytes.subarray(start, end).equals(await readAll(blobs, idOf(number), location, start, end)))
          const atOnce = await blobs.readAtOnce(idOf(number), location, start, end)
          if (atOnce !== undefined) assert(bytes.subarray(start, end).equals(atOnce))
        }
      }
    }
  }))

test('blobs that arrive together are stored as one object', () =>
  withStoreBelow(async ({ blobs, keys }) => {
    const numbers = [...Array(50).keys()]
    const locations = await Promise.all(numbers.map(n => blobs.write(idOf(n), [payload(5000 + n, n)])))
    assert.equal(new Set(locations.map(({ volume }) => volume)).size, 1)
    assert.deepEqual(await keys(), [`volumes/${WRITER.toString('hex')}-1`])
    for (const n of numbers) assert(payload(5000 + n, n).equals(await readAll(blobs, idOf(n), locations[n]!)))
    const [state] = await blobs.volumes()
    assert.deepEqual(
      { ...state, bytes: 0 },
      { name: locations[0]!.volume, bytes: 0, open: false, newest: false, writer: WRITER },
    )
    const entries = await collected(blobs.entries(locations[0]!.volume!))
    assert.deepEqual(
      entries,
      numbers.map(n => ({ id: idOf(n), location: locations[n]! })),
    )
  }))

test('a small blob is read by one request, header included', () =>
  withStoreBelow(async ({ hf, blobs }) => {
    const location = await blobs.write(idOf(1), [payload(9000)])
    const gets = hf.faults.add({ match: { operation: 'GetObject' }, fault: { delay: 0 } })
    await blobs.readAtOnce(idOf(1), location, 0, 9000)
    assert.equal(gets.hits, 1)
    await readAll(blobs, idOf(1), location)
    assert.equal(gets.hits, 2)
  }))

test('a long blob is read by one request, which a reader may cancel', () =>
  withStoreBelow(async ({ hf, blobs }) => {
    const bytes = payload(shortOrLong(12, 30) * 2 ** 20)
    const location = await blobs.write(idOf(1), [bytes])
    const gets = hf.faults.add({ match: { operation: 'GetObject' }, fault: { delay: 0 } })
    assert(bytes.equals(await readAll(blobs, idOf(1), location)))
    assert.equal(gets.hits, 1)
    for await (const chunk of blobs.read(idOf(1), location, 0, bytes.length)) {
      assert(chunk.equals(bytes.subarray(0, chunk.length)))
      break
    }
  }))

test('solo blobs are listed and removed, with their objects', () =>
  withStoreBelow(async ({ blobs, keys }) => {
    const locations = await Promise.all([1, 2].map(n => blobs.write(idOf(n), [payload(2 * PACKED_MAX)])))
    assert.deepEqual(
      (await collected(blobs.solos())).map(id => id.toString('hex')).sort(),
      [1, 2].map(n => idOf(n).toString('hex')),
    )
    await blobs.remove(idOf(1), locations[0]!)
    await blobs.remove(idOf(1), locations[0]!)
    assert.deepEqual(await collected(blobs.solos()), [idOf(2)])
    assert.deepEqual(await keys(), [`solo/02/${idOf(2).toString('hex')}`])
  }))

test('a removed volume is gone, and reading from it reports damage', () =>
  withStoreBelow(async ({ blobs, keys }) => {
    const location = await blobs.write(idOf(1), [payload(9000)])
    await blobs.removeVolume(location.volume!)
    await blobs.removeVolume(location.volume!)
    assert.deepEqual(await keys(), [])
    await assert.rejects(readAll(blobs, idOf(1), location), isDamaged)
    await assert.rejects(async () => blobs.readAtOnce(idOf(1), location, 0, 10), isDamaged)
    await assert.rejects(readAll(blobs, idOf(2), { ...location, volume: undefined }), isDamaged)
    await assert.rejects(collected(blobs.entries(location.volume!)), { code: 'ENOENT' })
  }))

test('changed, truncated or swapped bytes in the other store are damage', () =>
  withStoreBelow(async ({ blobs, direct }) => {
    const bytes = payload(3 * PACKED_MAX)
    const solo = await blobs.write(idOf(1), [bytes])
    const packed = await blobs.write(idOf(2), [payload(9000)])
    for (const [id, location] of [
      [idOf(1), solo],
      [idOf(2), packed],
    ] as const) {
      const name = location.volume === undefined ? `solo/01/${id.toString('hex')}` : `volumes/${location.volume}`
      const key = BELOW_PREFIX + name
      const whole = (await direct({ method: 'GET', key })).body
      const changed = Buffer.from(whole)
      changed[whole.length - 100]! ^= 1
      for (const body of [changed, whole.subarray(0, -1), whole.subarray(0, 20), Buffer.alloc(0)]) {
        await direct({ method: 'PUT', key, body })
        await assert.rejects(readAll(blobs, id, location), isDamaged)
      }
      await direct({ method: 'PUT', key, body: whole })
      await readAll(blobs, id, location)
      await assert.rejects(readAll(blobs, idOf(3), location), isDamaged)
    }
  }))

test('listings follow every page', () =>
  withStoreBelow(async ({ blobs, direct }) => {
    const names = [...Array(1100).keys()].map(n => `${WRITER.toString('hex')}-${n + 1}`)
    for (let from = 0; from < names.length; from += 50) {
      const body = Buffer.from('x')
      await Promise.all(
        names
          .slice(from, from + 50)
          .map(name => direct({ method: 'PUT', key: `${BELOW_PREFIX}volumes/${name}`, body })),
      )
    }
    const found = (await blobs.volumes()).map(({ name }) => name)
    assert.deepEqual(found.toSorted(), names.toSorted())
  }))

test('objects that are not blobs are skipped', () =>
  withStoreBelow(async ({ blobs, direct }) => {
    for (const name of ['volumes/x', 'volumes/', 'solo/aa/x', `solo/aa/${'0'.repeat(32)}`, 'store']) {
      await direct({ method: 'PUT', key: BELOW_PREFIX + name, body: Buffer.from('x') })
    }
    assert.deepEqual(await blobs.volumes(), [])
    assert.deepEqual(await collected(blobs.solos()), [])
  }))

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BlobCache, defaultCacheBytes } from './blob-cache.ts'

const idOf = (number: number): Buffer => {
  const id = Buffer.alloc(16)
  id.writeUInt32LE(number, 12)
  return id
}

const contentOf = (number: number, length = 10): Buffer => Buffer.alloc(length, number)

/** Reads as a store does: from the cache, or from elsewhere. True for a hit. */
function isHit(cache: BlobCache, number: number, length?: number): boolean {
  const content = contentOf(number, length)
  const cached = cache.get(idOf(number))
  if (cached === undefined) cache.offer(idOf(number), Buffer.from(content))
  else assert.deepEqual(cached, content)
  return cached !== undefined
}

test('a blob is kept from its second read on', () => {
  const cache = new BlobCache(100)
  assert.deepEqual([isHit(cache, 1), isHit(cache, 1), isHit(cache, 1)], [false, false, true])
})

test('blobs that are read once displace nothing', () => {
  const cache = new BlobCache(20)
  isHit(cache, 1)
  isHit(cache, 1)
  for (let number = 2; number < 100; number++) isHit(cache, number)
  assert(isHit(cache, 1))
})

test('the oldest is evicted, unless it was read since', () => {
  const cache = new BlobCache(30)
  for (const number of [1, 1, 2, 2, 3, 3]) isHit(cache, number)
  assert(isHit(cache, 1))
  for (let read = 0; read < 100 && !isHit(cache, 4); read++);
  assert.deepEqual(
    [1, 2, 3, 4].map(number => cache.get(idOf(number)) !== undefined),
    [true, false, true, true],
  )
})

test('more blobs than there is room for do not displace each other at every read', () => {
  const cache = new BlobCache(100)
  let hits = 0
  for (let round = 0; round < 100; round++)
    for (let number = 1; number <= 20; number++) hits += Number(isHit(cache, number))
  assert(hits >= 600, `${hits} of 2000 reads of 20 blobs, with room for 10`)
})

test('the memory of what was offered may be used again', () => {
  const cache = new BlobCache(100)
  const sent = contentOf(7)
  cache.offer(idOf(7), sent)
  cache.offer(idOf(7), sent)
  sent.fill(0)
  assert.deepEqual(cache.get(idOf(7)), contentOf(7))
})

test('a cache without memory keeps nothing', () => {
  const cache = new BlobCache(0)
  assert.deepEqual([isHit(cache, 1), isHit(cache, 1), isHit(cache, 1)], [false, false, false])
})

test('property: any reads get the right bytes, and the cache never exceeds its limit', () => {
  const reads = fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 1 })), { maxLength: 300 })
  fc.assert(
    fc.property(reads, fc.integer({ min: 0, max: 400 }), (numbers, bytesMax) => {
      const cache = new BlobCache(bytesMax)
      for (const [number, again] of numbers) {
        for (let n = 0; n <= again; n++) isHit(cache, number, number)
        let bytes = 0
        for (let other = 1; other <= 40; other++) bytes += cache.get(idOf(other))?.length ?? 0
        assert(bytes <= bytesMax)
      }
    }),
  )
})

test('the default is a small share of the memory', () => {
  assert.equal(defaultCacheBytes(2 ** 28), 2 ** 20)
  assert.equal(defaultCacheBytes(2 ** 40), 64 * 2 ** 20)
  assert(defaultCacheBytes() <= 64 * 2 ** 20)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SecondChanceCache } from './second-chance-cache.ts'

/** Asks as a reader does: for a kept value, or offers the one that it then finds elsewhere. True for a hit. */
function isHit(cache: SecondChanceCache<number>, value: number, bytes = 10): boolean {
  const name = String(value)
  const kept = cache.get(name)
  if (kept === undefined && cache.isWanted(name, value, bytes)) cache.set(name, value, bytes)
  return kept !== undefined
}

test('a value is kept from the second time on that it is needed', () => {
  const cache = new SecondChanceCache<number>(100)
  assert.deepEqual([isHit(cache, 1), isHit(cache, 1), isHit(cache, 1)], [false, false, true])
})

test('a value of the same name replaces the one before at once', () => {
  const cache = new SecondChanceCache<string>(30)
  cache.set('a', 'old', 10)
  assert(cache.isWanted('a', 7, 10))
  cache.set('a', 'new', 10)
  assert.equal(cache.get('a'), 'new')
  cache.set('b', 'other', 20)
  assert.deepEqual([cache.get('a'), cache.get('b')], ['new', 'other'])
  assert(!cache.isWanted('a', 7, 31))
})

test('the oldest is evicted, unless it was used since', () => {
  const cache = new SecondChanceCache<number>(30)
  for (const value of [1, 2, 3]) cache.set(String(value), value, 10)
  assert.equal(cache.get('1'), 1)
  cache.set('4', 4, 10)
  assert.deepEqual(
    [1, 2, 3, 4].map(value => cache.get(String(value)) !== undefined),
    [true, false, true, true],
  )
})

test('values that were used outlive a new one once, not for ever', () => {
  const cache = new SecondChanceCache<number>(20)
  for (const value of [1, 2]) cache.set(String(value), value, 10)
  for (const value of [1, 2]) cache.get(String(value))
  cache.set('3', 3, 10)
  cache.set('4', 4, 10)
  assert.deepEqual(
    [1, 2, 3, 4].map(value => cache.get(String(value)) !== undefined),
    [false, true, false, true],
  )
})

test('property: values are right, and those that are kept never take more than the limit', () => {
  const offers = fc.array(fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 60 })))
  fc.assert(
    fc.property(offers, fc.integer({ min: 0, max: 200 }), (all, bytesMax) => {
      const cache = new SecondChanceCache<{ of: string; bytes: number }>(bytesMax)
      for (const [number, bytes] of all) {
        const name = String(number)
        if (cache.isWanted(name, number, bytes)) cache.set(name, { of: name, bytes }, bytes)
        const kept = Array.from({ length: 20 }, (_, at) => [String(at + 1), cache.get(String(at + 1))] as const)
        for (const [asked, value] of kept) assert.equal(value?.of ?? asked, asked)
        const sum = kept.reduce((total, [, value]) => total + (value?.bytes ?? 0), 0)
        assert(sum <= bytesMax, `${sum} of ${bytesMax}`)
      }
    }),
  )
})

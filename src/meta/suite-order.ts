/** Scans compared with a sorted array: forward, backward, with every kind of range and limit. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { ALL, putOne, remove, type SuiteTest, utf8 } from './suite-driver.ts'
import { prefixed } from './suite-prefixed.ts'

/** Few distinct bytes, so that keys share prefixes and bounds; chosen to reveal wrong comparisons. */
const keyArbitrary = fc
  .array(fc.constantFrom(0x00, 0x01, 0x61, 0x7f, 0x80, 0xff), { minLength: 1, maxLength: 5 })
  .map(list => Buffer.from(list))
const borderArbitrary = fc.oneof(keyArbitrary, fc.constant(Buffer.alloc(0)))
const rangeArbitrary = fc.record({
  start: borderArbitrary,
  end: fc.option(keyArbitrary, { nil: undefined }),
  limit: fc.integer({ min: 0, max: 12 }),
  reverse: fc.boolean(),
})

export function orderSuite(suiteTest: SuiteTest): void {
  suiteTest('a range includes its start, excludes its end and stops at its limit, both ways', async ({ meta }) => {
    await meta.commit({ checks: [], writes: ['a', 'b', 'ba', 'c', 'd'].map(key => putOne(key, key)) })
    const keys = async (start: string, end: string | undefined, limit: number, reverse?: boolean): Promise<string> => {
      const range = { start: utf8(start), end: end === undefined ? undefined : utf8(end) }
      return (await meta.scan(range, limit, reverse)).map(entry => entry.value.toString()).join(' ')
    }
    assert.equal(await keys('b', 'd', 9), 'b ba c')
    assert.equal(await keys('b', 'd', 9, true), 'c ba b')
    assert.equal(await keys('b', 'd', 2), 'b ba')
    assert.equal(await keys('b', 'd', 2, true), 'c ba')
    assert.equal(await keys('', undefined, 9, true), 'd c ba b a')
    assert.equal(await keys('bb', undefined, 9), 'c d')
    assert.equal(await keys('bb', 'bc', 9), '')
    assert.equal(await keys('d', 'b', 9), '')
    assert.equal(await keys('b', 'b', 9, true), '')
    assert.equal(await keys('', 'a', 9, true), '')
    assert.equal(await keys('e', undefined, 9, true), '')
    assert.equal(await keys('', undefined, 0), '')
  })

  suiteTest('a snapshot is stable while commits continue', async opened => {
    const { meta } = opened
    const many = Array.from({ length: 200 }, (_, i) => `k${String(i).padStart(3, '0')}`)
    await meta.commit({ checks: [], writes: many.map(key => putOne(key, 'old')) })
    const snapshot = await meta.snapshot()
    const seen: string[] = []
    try {
      for (let start = ALL.start, turn = 0; ; turn++) {
        await meta.commit({
          checks: [],
          writes: [putOne(many[turn]!, 'new'), remove(many[199 - turn]!), putOne(`z${turn}`, '')],
        })
        assert.equal((await meta.get(utf8(many[turn]!)))?.value.toString(), 'new')
        const page = await snapshot.scan({ start, end: undefined }, 7)
        if (page.length === 0) break
        seen.push(...page.map(({ key, value }) => `${key}=${value}`))
        start = Buffer.concat([page.at(-1)!.key, Buffer.from([0])])
      }
      assert.equal((await snapshot.scan({ start: utf8('k010'), end: utf8('k012') }, 9)).length, 2)
      assert.deepEqual(await snapshot.scan(ALL, 0), [])
    } finally {
      await snapshot.end()
    }
    assert.deepEqual(
      seen,
      many.map(key => `${key}=old`),
    )
    const later = await meta.snapshot()
    assert.equal((await later.scan({ start: utf8('k000'), end: utf8('k001') }, 9))[0]?.value.toString(), 'new')
    await later.end()
  })

  suiteTest('scans agree with a sorted array for any keys', async ({ meta }) => {
    let run = 0
    const property = fc.asyncProperty(
      fc.uniqueArray(keyArbitrary, { maxLength: 25, selector: key => key.toString('hex') }),
      fc.array(rangeArbitrary, { minLength: 6, maxLength: 6 }),
      async (keys, ranges) => {
        // Each run has its own key space, with neighbours on both sides that must never appear.
        const space = prefixed(meta, Buffer.from([++run >> 8, run & 0xff]))
        await space.commit({ checks: [], writes: keys.map(key => ({ key, value: key })) })
        for (const { start, end, limit, reverse } of ranges) {
          const model = keys
            .filter(key => Buffer.compare(key, start) >= 0 && (end === undefined || Buffer.compare(key, end) < 0))
            .sort((a, b) => (reverse ? Buffer.compare(b, a) : Buffer.compare(a, b)))
            .slice(0, limit)
          const found = await space.scan({ start, end }, limit, reverse)
          assert.deepEqual(
            found.map(entry => entry.key.toString('hex')),
            model.map(key => key.toString('hex')),
          )
          for (const entry of found) assert.ok(entry.value.equals(entry.key))
        }
      },
    )
    await fc.assert(property, { numRuns: 60 })
  })

  suiteTest('a long scan page by page returns every key once', async ({ meta }) => {
    const name = (index: number): string => `k${String((index * 7_919) % 3_000).padStart(5, '0')}`
    for (let at = 0; at < 3_000; at += 250) {
      await meta.commit({
        checks: [],
        writes: Array.from({ length: 250 }, (_, index) => putOne(name(at + index), 'v')),
      })
    }
    const walked: string[] = []
    for (let start = ALL.start; ; ) {
      const page = await meta.scan({ start, end: undefined }, 117)
      if (page.length === 0) break
      walked.push(...page.map(entry => entry.key.toString()))
      start = Buffer.concat([page.at(-1)!.key, Buffer.from([0])])
    }
    assert.equal(walked.length, 3_000)
    assert.deepEqual(walked, [...new Set(walked)].sort())
  })
}

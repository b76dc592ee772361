/**
 * The contract of a metadata driver as tests. Every driver runs all of it; durable ones also run the part with several
 * processes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyOf } from '../lib/bytes.ts'
import { type Entry, type EntryPair, META_LIMITS, type Stamp, type Write } from './meta.ts'
import { ALL, type Driver, putOne, remove, type SuiteTest, stampOf, utf8, utf8Text } from './suite-driver.ts'
import { historySuite } from './suite-history.ts'
import { orderSuite } from './suite-order.ts'
import { processSuite } from './suite-processes.ts'

const shown = (entries: readonly Entry[]): string =>
  entries.map(({ key, value }) => `${key.toString('latin1')}=${value.toString('latin1')}`).join(' ')

export function metaSuite(driver: Driver): void {
  const suiteTest: SuiteTest = (title, body) =>
    void test(`${driver.name}: ${title}`, async () => {
      const opened = await driver.open()
      try {
        await body(opened)
      } finally {
        await opened.destroy()
      }
    })
  recordSuite(suiteTest)
  commitSuite(suiteTest)
  limitSuite(suiteTest)
  orderSuite(suiteTest)
  historySuite(suiteTest)
  if (driver.durable) processSuite(suiteTest)
}

function recordSuite(suiteTest: SuiteTest): void {
  suiteTest('a record exists after its commit and is gone after its removal', async ({ meta }) => {
    assert.equal(await meta.get(utf8('a')), undefined)
    assert.equal(await meta.commit({ checks: [], writes: [putOne('a', 'one'), putOne('b', '')] }), true)
    const entry = await meta.get(utf8('a'))
    assert.deepEqual([entry?.key.toString(), entry?.value.toString(), typeof entry?.stamp], ['a', 'one', 'number'])
    assert.equal((await meta.get(utf8('b')))?.value.length, 0)
    assert.equal(await meta.commit({ checks: [], writes: [remove('a'), remove('never there')] }), true)
    assert.equal(await meta.get(utf8('a')), undefined)
    assert.equal(shown(await meta.scan(ALL, 10)), 'b=')
  })

  suiteTest('two records are read as of the same moment, where they are read from memory', async ({ meta }) => {
    const { getBoth } = meta
    assert.equal(getBoth === undefined, meta.remote !== undefined)
    if (getBoth === undefined) return
    const pairOf = (known: EntryPair = [undefined, undefined]): EntryPair =>
      getBoth.call(meta, { key: utf8('a'), known: known[0] }, { key: utf8('b'), known: known[1] })
    assert.deepEqual(pairOf(), [undefined, undefined])
    await meta.commit({ checks: [], writes: [putOne('a', 'one')] })
    assert.deepEqual(shown(pairOf().filter(entry => entry !== undefined)), 'a=one')
    for (let n = 0; n < 50; n++) {
      let isCommitted = false
      const writes = [putOne('a', `${n}`), putOne('b', `${n}`)]
      const committing = meta.commit({ checks: [], writes }).finally(() => {
        isCommitted = true
      })
      // An engine with a thread of its own begins once the turn has ended, and commits during the reads of later ones.
      while (n > 0 && !isCommitted) {
        for (let read = 0; read < 20; read++) {
          const [a, b] = pairOf()
          assert.deepEqual(a?.value, b?.value)
        }
        await new Promise(setImmediate)
      }
      await committing
      const latest = pairOf()
      assert.equal(latest[0]?.value.toString(), `${n}`)
      const again = pairOf(latest)
      assert.ok(again.every((entry, at) => entry === latest[at]))
    }
  })

  suiteTest('keys and values are any bytes', async ({ meta }) => {
    const key = Buffer.from([0, 0xff, 0, 0x80, 0])
    const value = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
    await meta.commit({ checks: [], writes: [{ key, value }] })
    const entry = await meta.get(key)
    assert.ok(Buffer.isBuffer(entry?.value) && entry.value.equals(value))
    const [scanned] = await meta.scan(ALL, 1)
    assert.ok(Buffer.isBuffer(scanned?.key) && scanned.key.equals(key))
    assert.ok(Buffer.isBuffer(scanned.value) && scanned.value.equals(value))
    assert.equal(scanned.stamp, entry.stamp)
  })

  suiteTest('a stored record does not change with the buffer of its caller', async ({ meta }) => {
    const key = utf8('key')
    const value = utf8('value')
    await meta.commit({ checks: [], writes: [{ key, value }] })
    value.fill(0)
    key.fill(0)
    const entry = await meta.get(utf8('key'))
    entry?.value.fill(0)
    const [scanned] = await meta.scan(ALL, 1)
    assert.equal(scanned?.value.toString(), 'value')
    scanned.value.fill(0)
    scanned.key.fill(0)
    assert.equal(shown(await meta.scan(ALL, 2)), 'key=value')
  })

  suiteTest('borrowed entries equal those of a scan, and projections stay valid', async ({ meta }) => {
    // Some longer than an engine's initial read buffer, and some empty.
    const lengths = Array.from({ length: 40 }, (_, n) => (n % 3 === 0 ? 40_000 : n % 3 === 1 ? n : 0))
    const name = (n: number): string => `k${String(n).padStart(2, '0')}`
    await meta.commit({
      checks: [],
      writes: lengths.map((length, n) => putOne(name(n), String(n % 10).repeat(length))),
    })
    const range = { start: utf8('k03'), end: utf8('k37') }
    for (const limit of [0, 1, 7, 100]) {
      const scanned = await meta.scan(range, limit)
      const lent = await meta.scanMap(range, limit, ({ key, value, stamp }, index) => ({
        entry: { key: copyOf(key), value: copyOf(value), stamp },
        index,
      }))
      assert.deepEqual(
        lent.map(({ entry }) => entry),
        scanned.map(({ key, value, stamp }) => ({ key, value, stamp })),
      )
      assert.deepEqual(
        lent.map(({ index }) => index),
        scanned.map((_, i) => i),
      )
    }
    assert.deepEqual(await meta.scanMap({ start: utf8('k9'), end: utf8('k1') }, 9, () => assert.fail()), [])
  })

  suiteTest('an error of a projection is passed on, and the engine keeps working', async ({ meta }) => {
    await meta.commit({ checks: [], writes: [putOne('a', 'one'), putOne('b', 'two')] })
    const refuse = (): never => {
      throw new RangeError('of no use')
    }
    for (let n = 0; n < 3; n++) await assert.rejects(meta.scanMap(ALL, 9, refuse), RangeError)
    const keys = await meta.scanMap(ALL, 9, ({ key }) => copyOf(key).toString())
    assert.deepEqual(keys, ['a', 'b'])
  })

  suiteTest('a read with a known entry returns the current record', async ({ meta }) => {
    const again = async (known: Entry) => (await meta.get(utf8('a'), known))?.value.toString()
    await meta.commit({ checks: [], writes: [putOne('a', 'before')] })
    const before = (await meta.get(utf8('a')))!
    assert.equal(await again(before), 'before')
    await meta.commit({ checks: [], writes: [putOne('a', 'after')] })
    assert.equal(await again(before), 'after')
    await meta.commit({ checks: [], writes: [remove('a')] })
    assert.equal(await again(before), undefined)
  })

  suiteTest('an entry that was read does not change when the record does', async ({ meta }) => {
    await meta.commit({ checks: [], writes: [putOne('a', 'before')] })
    const entry = await meta.get(utf8('a'))
    const [scanned] = await meta.scan(ALL, 1)
    await meta.commit({ checks: [], writes: [putOne('a', 'later!'), putOne('b', 'other')] })
    await Promise.all([meta.get(utf8('a')), meta.get(utf8('b')), meta.scan(ALL, 2)])
    assert.equal(entry?.value.toString(), 'before')
    assert.equal(scanned?.value.toString(), 'before')
  })
}

function commitSuite(suiteTest: SuiteTest): void {
  suiteTest('a check succeeds for the current stamp and no other', async ({ meta }) => {
    await meta.commit({ checks: [], writes: [putOne('a', '1')] })
    const stamp = await stampOf(meta, 'a')
    const write = [putOne('a', '2')]
    assert.equal(await meta.commit({ checks: [{ key: utf8('a'), stamp: undefined }], writes: write }), false)
    assert.equal(await meta.commit({ checks: [{ key: utf8('a'), stamp: stamp! + 1 }], writes: write }), false)
    assert.equal(await meta.commit({ checks: [{ key: utf8('b'), stamp }], writes: write }), false)
    assert.equal(await utf8Text(meta, 'a'), '1')
    assert.equal(await meta.commit({ checks: [{ key: utf8('a'), stamp }], writes: write }), true)
    assert.equal(await meta.commit({ checks: [{ key: utf8('a'), stamp }], writes: write }), false)
    assert.equal(
      await meta.commit({ checks: [{ key: utf8('b'), stamp: undefined }], writes: [putOne('b', '1')] }),
      true,
    )
  })

  suiteTest('a commit without writes reports whether its checks succeed', async ({ meta }) => {
    await meta.commit({ checks: [], writes: [putOne('a', '1')] })
    const stamp = await stampOf(meta, 'a')
    assert.equal(await meta.commit({ checks: [{ key: utf8('a'), stamp }], writes: [] }), true)
    assert.equal(await meta.commit({ checks: [{ key: utf8('a'), stamp: undefined }], writes: [] }), false)
    assert.equal(await meta.commit({ checks: [], writes: [] }), true)
    assert.equal(await stampOf(meta, 'a'), stamp)
  })

  suiteTest('a failed check in any position leaves nothing written', async ({ meta }) => {
    await meta.commit({ checks: [], writes: [putOne('x', '1'), putOne('y', '1'), putOne('gone', '1')] })
    const there = { x: (await stampOf(meta, 'x'))!, y: (await stampOf(meta, 'y'))! }
    const kinds = [
      { check: { key: utf8('x'), stamp: there.x }, holds: true },
      { check: { key: utf8('y'), stamp: there.y }, holds: true },
      { check: { key: utf8('absent'), stamp: undefined }, holds: true },
      { check: { key: utf8('missing'), stamp: undefined }, holds: true },
      { check: { key: utf8('x'), stamp: there.x + 1 }, holds: false },
      { check: { key: utf8('absent'), stamp: there.x }, holds: false },
      { check: { key: utf8('y'), stamp: undefined }, holds: false },
    ]
    // Issued together, so that in a driver that groups commits a failing one is between successful ones.
    const tries = kinds.flatMap(a => kinds.flatMap(b => kinds.map(c => [a, b, c])))
    const answers = await Promise.all(
      tries.map((parts, index) =>
        meta.commit({
          checks: parts.map(part => part.check),
          writes: [putOne(`w${index}`, 'w'), putOne(`v${index}`, 'v')],
        }),
      ),
    )
    const expected = tries.map(parts => parts.every(part => part.holds))
    assert.deepEqual(answers, expected)
    const found = new Set((await meta.scan(ALL, 10_000)).map(entry => entry.key.toString()))
    for (const [index, taken] of expected.entries()) {
      assert.equal(found.has(`w${index}`), taken, `first write of ${index}`)
      assert.equal(found.has(`v${index}`), taken, `second write of ${index}`)
    }
    assert.equal(await meta.commit({ checks: [{ key: utf8('x'), stamp: undefined }], writes: [remove('gone')] }), false)
    assert.equal(await utf8Text(meta, 'gone'), '1')
  })

  suiteTest('every write changes the stamp, including removal and recreation', async ({ meta }) => {
    const seen = new Set<Stamp>()
    for (let round = 0; round < 20; round++) {
      await meta.commit({ checks: [], writes: [putOne('a', 'same')] })
      seen.add((await stampOf(meta, 'a'))!)
      if (round % 2 === 0) await meta.commit({ checks: [], writes: [remove('a')] })
    }
    assert.equal(seen.size, 20)
    for (const stamp of seen) assert.ok(Number.isSafeInteger(stamp))
  })

  suiteTest('of concurrent commits with the same check exactly one succeeds', async ({ meta }) => {
    for (let round = 0; round < 5; round++) {
      const stamp = await stampOf(meta, 'a')
      const tries = Array.from({ length: 40 }, (_, index) =>
        meta.commit({
          checks: [{ key: utf8('a'), stamp }],
          writes: [putOne('a', `${round}/${index}`), putOne(`mark/${round}/${index}`, '')],
        }),
      )
      const winners = (await Promise.all(tries)).flatMap((taken, index) => (taken ? [index] : []))
      assert.equal(winners.length, 1)
      assert.equal(await utf8Text(meta, 'a'), `${round}/${winners[0]}`)
      const marks = await meta.scan({ start: utf8(`mark/${round}/`), end: utf8(`mark/${round}0`) }, 100)
      assert.deepEqual(
        marks.map(entry => entry.key.toString()),
        [`mark/${round}/${winners[0]}`],
      )
    }
  })

  suiteTest(
    'unconditional commits to one key issued together all count, and the last state is one of them',
    async ({ meta }) => {
      const taken = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          meta.commit({ checks: [], writes: [putOne('a', `${index}`), putOne(`b${index}`, '')] }),
        ),
      )
      assert.ok(taken.every(answer => answer))
      assert.equal((await meta.scan({ start: utf8('b'), end: utf8('c') }, 100)).length, 30)
      assert.match((await utf8Text(meta, 'a'))!, /^\d+$/)
    },
  )
}

function limitSuite(suiteTest: SuiteTest): void {
  suiteTest('the longest keys and values, and as many keys as a commit may have', async ({ meta }) => {
    const { keyBytesMax, valueBytesMax, commitKeysMax } = META_LIMITS
    const key = Buffer.alloc(keyBytesMax, 0xff)
    const value = Buffer.alloc(valueBytesMax, 'v')
    for (const size of [0, 1, 4_000, 4_096, 32_768, valueBytesMax]) {
      assert.equal(await meta.commit({ checks: [], writes: [{ key, value: value.subarray(0, size) }] }), true)
      assert.ok((await meta.get(key))!.value.equals(value.subarray(0, size)), `${size} bytes`)
      assert.ok((await meta.scan(ALL, 1))[0]!.value.equals(value.subarray(0, size)), `${size} bytes in a scan`)
    }
    const sibling = Buffer.concat([key.subarray(1), Buffer.from([0xfe])])
    await meta.commit({ checks: [{ key: sibling, stamp: undefined }], writes: [{ key: sibling, value }] })
    assert.ok((await meta.scan({ start: key, end: undefined }, 9))[0]!.key.equals(key))
    const many = Array.from({ length: commitKeysMax }, (_, index) =>
      putOne(`many/${String(index).padStart(3, '0')}`, `${index}`),
    )
    const checks = many.map(write => ({ key: write.key, stamp: undefined }))
    assert.equal(await meta.commit({ checks, writes: many }), true)
    assert.equal(await meta.commit({ checks, writes: many }), false)
    assert.equal((await meta.scan({ start: utf8('many/'), end: utf8('many0') }, 1000)).length, commitKeysMax)
  })

  suiteTest('a commit outside the limits is rejected and writes nothing', async ({ meta }) => {
    const { keyBytesMax, valueBytesMax, commitKeysMax } = META_LIMITS
    const refused: Write[][] = [
      [putOne('a', ''), { key: Buffer.alloc(keyBytesMax + 1, 'k'), value: utf8('') }],
      [putOne('a', ''), { key: Buffer.alloc(0), value: utf8('') }],
      [putOne('a', ''), { key: utf8('b'), value: Buffer.alloc(valueBytesMax + 1) }],
      [putOne('a', ''), putOne('a', '')],
      Array.from({ length: commitKeysMax + 1 }, (_, index) => putOne(`a${index}`, '')),
      Array.from({ length: 11 }, (_, index) => ({ key: utf8(`a${index}`), value: Buffer.alloc(valueBytesMax) })),
    ]
    for (const writes of refused) await assert.rejects(meta.commit({ checks: [], writes }), RangeError)
    await assert.rejects(async () => meta.get(Buffer.alloc(0)), RangeError)
    assert.deepEqual(await meta.scan(ALL, 10), [])
  })
}

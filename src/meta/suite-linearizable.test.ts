import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type HistoryCall, isLinearizable } from './suite-linearizable.ts'

const read = (start: number, end: number, value: number, key = 0): HistoryCall => ({
  start,
  end,
  reads: { key, value },
})
const commit = (start: number, end: number, checks: object, writes: object, taken = true): HistoryCall => {
  const pairs = (of: object): Map<number, number> => new Map(Object.entries(of).map(([k, v]) => [Number(k), v]))
  return { start, end, commit: { checks: pairs(checks), writes: pairs(writes), taken } }
}

test('a linearizable history is accepted', () => {
  assert.ok(isLinearizable([commit(0, 3, { 0: 0 }, { 0: 7 }), read(1, 2, 0), read(4, 5, 7)], 1))
  assert.ok(
    isLinearizable([commit(0, 3, { 0: 0 }, { 0: 7 }), read(1, 2, 7)], 1),
    'read during the write, after it took effect',
  )
})

test('a read that misses a completed write is rejected', () => {
  assert.ok(!isLinearizable([commit(0, 1, {}, { 0: 7 }), read(2, 3, 0)], 1))
})

test('a read of an older state is rejected', () => {
  assert.ok(!isLinearizable([commit(0, 9, {}, { 0: 7 }), read(1, 2, 7), read(3, 4, 0)], 1))
})

test('two successes of one check are rejected', () => {
  assert.ok(!isLinearizable([commit(0, 5, { 0: 0 }, { 0: 1 }), commit(1, 6, { 0: 0 }, { 0: 2 })], 1))
  assert.ok(isLinearizable([commit(0, 5, { 0: 0 }, { 0: 1 }), commit(1, 6, { 0: 0 }, { 0: 2 }, false)], 1))
})

test('a partly visible commit is rejected', () => {
  assert.ok(!isLinearizable([commit(0, 1, {}, { 0: 1, 1: 2 }), read(2, 3, 1, 0), read(4, 5, 0, 1)], 2))
})

test('a failed commit whose checks held is rejected', () => {
  assert.ok(!isLinearizable([commit(0, 1, { 0: 0 }, { 0: 1 }, false)], 1))
})

test('a call that never returned may have happened or not', () => {
  const lost = commit(0, Number.POSITIVE_INFINITY, {}, { 0: 7 })
  assert.ok(isLinearizable([lost, read(1, 2, 0)], 1))
  assert.ok(isLinearizable([lost, read(1, 2, 7)], 1))
  assert.ok(!isLinearizable([lost, read(1, 2, 7), read(3, 4, 0)], 1))
})

/** Every order of every subset that has all calls that returned. */
function hasOrder(left: readonly HistoryCall[], state: readonly number[]): boolean {
  if (left.every(({ end }) => end === Number.POSITIVE_INFINITY)) return true
  return left.some(call => {
    if (left.some(other => other.end < call.start)) return false
    const { reads, commit } = call
    if (reads !== undefined && state[reads.key] !== reads.value) return false
    const holds = [...(commit?.checks ?? [])].every(([key, value]) => state[key] === value)
    if (commit !== undefined && holds !== commit.taken) return false
    const writes = commit?.taken ? commit.writes : new Map<number, number>()
    const rest = left.filter(other => other !== call)
    return hasOrder(
      rest,
      state.map((value, key) => writes.get(key) ?? value),
    )
  })
}

const key = fc.constantFrom(0, 1)
const value = fc.constantFrom(0, 1, 2)
const pairs = fc.array(fc.tuple(key, value), { maxLength: 2 }).map(all => new Map(all))
const call = fc.record({
  length: fc.constantFrom(1, 2.5, 4.5, Number.POSITIVE_INFINITY),
  what: fc.oneof(
    fc.record({ reads: fc.record({ key, value }) }),
    fc.record({ commit: fc.record({ checks: pairs, writes: pairs, taken: fc.boolean() }) }),
  ),
})
const histories = fc
  .array(call, { maxLength: 6 })
  .map(calls => calls.map(({ length, what }, index): HistoryCall => ({ start: index, end: index + length, ...what })))

test('the search decides as trying every order does', () => {
  let accepted = 0
  fc.assert(
    fc.property(histories, history => {
      const expected = hasOrder(history, [0, 0])
      if (expected) accepted++
      assert.equal(isLinearizable(history, 2), expected)
    }),
    { numRuns: 3_000 },
  )
  assert(accepted > 100 && accepted < 2_900, `${accepted} of 3,000 histories were accepted`)
})

test('dozens of writes without a response do not make the search long', () => {
  const lost = (n: number): HistoryCall => commit(n, Number.POSITIVE_INFINITY, {}, { 0: n % 3 === 0 ? 0 : n })
  const writes = Array.from({ length: 60 }, (_, index) => lost(index + 1))
  const seen = [40, 0, 41, 0].map((value, index) => read(100 + 2 * index, 101 + 2 * index, value))
  assert.ok(isLinearizable([...writes, ...seen], 1))
  assert.ok(!isLinearizable([...writes, ...seen, read(200, 201, 61)], 1))
})

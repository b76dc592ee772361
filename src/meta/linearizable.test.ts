import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type HistoryCall, isLinearizable } from './linearizable.ts'

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

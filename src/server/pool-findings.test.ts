import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgePool, poolFindings } from './pool-findings.ts'

const GIB = 2 ** 30
const ROOMY = { totalBytes: 100 * GIB, freeBytes: 50 * GIB }
const statesOf = (size: number, minSize: number, freeBytes = 50 * GIB): string[] =>
  judgePool({ size, minSize }, { ...ROOMY, freeBytes }).map(({ state }) => state)

test('a pool that can lose acknowledged writes is bad, and one that stops with its first lost copy is odd', () => {
  assert.deepEqual(statesOf(3, 2), ['good', 'good'])
  assert.deepEqual(statesOf(1, 1), ['bad', 'good'])
  assert.deepEqual(statesOf(3, 1), ['bad', 'good'])
  assert.deepEqual(statesOf(2, 2), ['odd', 'good'])
})

test('a pool that is nearly full is odd first and then bad', () => {
  assert.deepEqual(statesOf(3, 2, 10 * GIB), ['good', 'odd'])
  assert.deepEqual(statesOf(3, 2, GIB), ['good', 'bad'])
  assert.deepEqual(statesOf(3, 2, 0), ['good', 'bad'])
})

test('a wrong address of a pool is a finding', async () => {
  const [finding] = await poolFindings('rados://me:hush@pool')
  assert.deepEqual([finding?.state, finding?.found.includes('hush')], ['bad', false])
})

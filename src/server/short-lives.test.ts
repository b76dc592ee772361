import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Life, ShortLives } from './short-lives.ts'

const pauses = (...lives: readonly Life[]): readonly (number | undefined)[] => {
  const short = new ShortLives()
  return lives.map(life => short.pauseAfter(life))
}

const five = (life: Life): readonly Life[] => Array<Life>(5).fill(life)

test('a worker that ended after its start is replaced later and later, and then no more', () => {
  assert.deepEqual(pauses(...five({ ms: 4_999, hasServed: true })), [0, 400, 800, 1600, undefined])
})

test('a worker that never served died of its start, however long a slow machine took over it', () => {
  assert.deepEqual(pauses(...five({ ms: 60_000, hasServed: false })), [0, 400, 800, 1600, undefined])
})

test('one that served for a while is replaced at once, and the count begins anew', () => {
  const [short, long] = [
    { ms: 10, hasServed: true },
    { ms: 5_000, hasServed: true },
  ]
  assert.deepEqual(pauses(short, short, short, short, long, short, short), [0, 400, 800, 1600, 0, 0, 400])
})

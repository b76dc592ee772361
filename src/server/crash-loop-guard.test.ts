import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CrashLoopGuard, type WorkerExit } from './crash-loop-guard.ts'

const pauses = (...lives: readonly WorkerExit[]): readonly (number | undefined)[] => {
  const short = new CrashLoopGuard()
  return lives.map(life => short.restartDelayMs(life))
}

const five = (life: WorkerExit): readonly WorkerExit[] => Array<WorkerExit>(5).fill(life)

test('a worker that keeps failing is replaced after growing delays, then not at all', () => {
  assert.deepEqual(pauses(...five({ ms: 4_999, hasServed: true, wasKilled: false })), [0, 400, 800, 1600, undefined])
})

test('a worker that exits before it serves counts as a failed start, however long it took', () => {
  assert.deepEqual(pauses(...five({ ms: 60_000, hasServed: false, wasKilled: false })), [0, 400, 800, 1600, undefined])
})

test('a worker that served for a while is replaced immediately, and the count is reset', () => {
  const [short, long] = [
    { ms: 10, hasServed: true, wasKilled: false },
    { ms: 5_000, hasServed: true, wasKilled: false },
  ]
  assert.deepEqual(pauses(short, short, short, short, long, short, short), [0, 400, 800, 1600, 0, 0, 400])
})

test('a worker killed while serving is always replaced immediately', () => {
  assert.deepEqual(
    pauses(...Array<WorkerExit>(50).fill({ ms: 10, hasServed: true, wasKilled: true })),
    Array(50).fill(0),
  )
})

test('workers killed from outside before they serve delay the next start and never end the server', () => {
  const killed = { ms: 10, hasServed: false, wasKilled: true }
  assert.deepEqual(pauses(...five(killed), killed), [0, 400, 800, 1600, 1600, 1600])
  const failed = { ...killed, wasKilled: false }
  assert.deepEqual(pauses(...five(killed), failed), [0, 400, 800, 1600, 1600, undefined])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Logger } from './log.ts'
import { Maintenance } from './maintenance.ts'

const AN_HOUR_MS = 3_600_000

function listening(): Logger & { readonly lines: Readonly<Record<string, unknown>>[] } {
  const lines: Readonly<Record<string, unknown>>[] = []
  return { lines, log: line => lines.push(line), notice: () => {}, abort() {} }
}

test('maintenance stops in the middle of a pause', async () => {
  let steps = 0
  let rested = (): void => {}
  const resting = new Promise<void>(resolve => {
    rested = resolve
  })
  const worker = {
    async step() {
      steps++
      rested()
      return 'idle' as const
    },
  }
  const maintenance = new Maintenance([{ name: 'test', worker, pauseMs: AN_HOUR_MS }], listening())
  await resting
  await maintenance.stop()
  assert.equal(steps, 1)
})

test('a task that is due does not wait for the end of its pause', async () => {
  let steps = 0
  let again = (): void => {}
  const stepped = new Promise<void>(resolve => {
    again = resolve
  })
  const asked: boolean[] = []
  const worker = {
    async step() {
      if (++steps === 2) again()
      return 'idle' as const
    },
  }
  const isDue = (): boolean => asked.push(true) === 2
  const maintenance = new Maintenance([{ name: 'test', worker, pauseMs: AN_HOUR_MS, isDue }], listening())
  await stepped
  await maintenance.stop()
  assert.equal(asked.length, 2)
  assert.equal(steps, 2)
})

test('maintenance stops between two steps of a worker that always has more to do', async () => {
  let steps = 0
  let begun = (): void => {}
  const working = new Promise<void>(resolve => {
    begun = resolve
  })
  const worker = {
    async step() {
      await new Promise(resolve => setImmediate(resolve))
      if (++steps === 3) begun()
      return 'busy' as const
    },
  }
  const maintenance = new Maintenance([{ name: 'test', worker, pauseMs: AN_HOUR_MS }], listening())
  await working
  await maintenance.stop()
  const last = steps
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(steps, last)
})

test('a step that fails is logged, and the next step runs', async () => {
  const tell = listening()
  let steps = 0
  let again = (): void => {}
  const tried = new Promise<void>(resolve => {
    again = resolve
  })
  const worker = {
    async step() {
      if (++steps === 1) throw new Error('not today')
      again()
      return 'idle' as const
    },
  }
  const maintenance = new Maintenance([{ name: 'test', worker, pauseMs: 0 }], tell)
  await tried
  await maintenance.stop()
  assert.deepEqual(tell.lines, [{ level: 'error', maintenance: 'Error: not today' }])
})

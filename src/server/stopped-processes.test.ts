import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { isStopped, StoppedProcesses } from './stopped-processes.ts'

test('a stopped process is distinguished from a running one and from one that is gone', async t => {
  if (process.platform !== 'linux') return t.skip('there is no /proc here')
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  const { pid } = child
  assert.equal(isStopped(pid), false)
  child.kill('SIGSTOP')
  while (!isStopped(pid)) await new Promise(setImmediate)
  child.kill('SIGCONT')
  while (isStopped(pid)) await new Promise(setImmediate)
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(isStopped(pid), false)
})

test('a process is reported as stopped after two observations in a row', () => {
  const looks = new StoppedProcesses<string>()
  const step = (...stopped: readonly string[]) => looks.step(['a', 'b'], member => stopped.includes(member))
  assert.deepEqual([step('a'), step('a', 'b'), step('b'), step(), step('a')], [[], ['a'], ['b'], [], []])
})

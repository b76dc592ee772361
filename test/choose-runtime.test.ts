/** The scripts use Node, unless Bun is requested. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { test } from 'node:test'

const choosing = (wanted: string): readonly string[] => [
  '--input-type=module',
  '-e',
  `console.log((await import('./scripts/runtime.mjs')).chooseRuntime(${wanted}).name)`,
]

test('scripts run on Node unless HOLDFAST_RUNTIME asks for Bun', () => {
  const chosen = (wanted: string): string =>
    execFileSync('node', choosing(wanted), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  assert.deepEqual([chosen('undefined'), chosen("'node'"), chosen("'bun'")], ['node', 'node', 'bun'])
  const { status, stderr } = spawnSync('node', choosing("'deno'"), { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [2, 'holdfast: unknown runtime "deno": node or bun\n'])
})

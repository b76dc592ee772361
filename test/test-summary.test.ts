/** `npm test` into a pipe: failures, skipped tests with their reasons, and one closing line with the right counts. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { withFolder } from './store/fixture.ts'

interface Summary {
  take(line: string): void
  end(isFine: boolean): void
}
type BunSummary = new (print: (text: string) => void) => Summary

const REPORTER = new URL('../../scripts/test-summary.mjs', import.meta.url)
const { BunSummary } = (await import(REPORTER.href)) as { BunSummary: BunSummary }

function bunPrints(lines: readonly string[], isFine: boolean): string {
  let printed = ''
  const summary = new BunSummary(piece => {
    printed += piece
  })
  for (const line of lines) summary.take(line)
  summary.end(isFine)
  return printed
}

const TOTALS = [' 2 pass', ' 1 skip', ' 1 fail', 'Ran 4 tests across 1 file. [45.00ms]']

test('Bun: a failure is printed with the output before it, passes are not', () => {
  const lines = ['one.test.js:', '(pass) good [1.77ms]', 'Error: broken', '      at one.test.js:3', '(fail) bad [3ms]']
  const printed = bunPrints([...lines, '(pass) fine', '(skip) no disk here', '', ...TOTALS], false)
  const failure = ['Error: broken', '      at one.test.js:3', '✖ bad (one.test.js)']
  assert.deepEqual(printed.split('\n'), [
    ...failure,
    'skipped: no disk here (one.test.js)',
    '2 passed, 1 failed, 1 skipped',
    '',
  ])
})

test('Bun: a run that passes is one line', () => {
  assert.equal(
    bunPrints(['one.test.js:', '(pass) good', '', ' 1 pass', ' 0 fail'], true),
    '1 passed, 0 failed, 0 skipped\n',
  )
})

test('Bun: a run that dies before its counts prints its last output and fails', () => {
  const printed = bunPrints(['one.test.js:', '(pass) good', 'panic: out of memory'], false)
  assert.match(printed, /panic: out of memory/)
  assert.match(printed, /^0 passed, 1 failed, 0 skipped$/m)
})

const FILE = `import { test } from 'node:test'
test('good', () => {})
test('no disk', { skip: 'no such disk here' }, () => {})
test('parent', async t => {
  await t.test('bad child', () => { throw new Error('broken') })
})
`

// The reporter is Node's. Under Bun, Node may be absent, and Bun's own lines are read above.
if (process.versions.bun === undefined) {
  test('Node: failures once, reasons of skipped tests, counts and the exit code', () =>
    withFolder(async folder => {
      const file = join(folder, 'some.test.mjs')
      writeFileSync(file, FILE)
      // The runner of this test would take the other for its own child.
      const { NODE_TEST_CONTEXT: _, ...env } = process.env
      const reporter = [`--test-reporter=${REPORTER.href}`, '--test-reporter-destination=stdout']
      const child = spawn(process.execPath, ['--test', ...reporter, file], { env, stdio: ['ignore', 'pipe', 'ignore'] })
      const closed = new Promise(resolve => child.once('close', resolve))
      const printed = await text(child.stdout)
      assert.equal(await closed, 1)
      assert.equal(printed.match(/^✖ /gm)?.length, 1, printed)
      assert.match(printed, /^✖ bad child \(.*some\.test\.mjs:5\)\n {4}Error: broken$/m)
      assert.match(printed, /^skipped: no disk: no such disk here$/m)
      assert.match(printed, /\n1 passed, 2 failed, 1 skipped\n$/)
    }))
}

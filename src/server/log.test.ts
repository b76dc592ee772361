import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'
import { type LogLevel, withLogLevel } from './log.ts'

test('a level leaves out what matters less, and nothing that has none', () => {
  const told = (least: LogLevel): unknown[] => {
    const lines: unknown[] = []
    const logger = withLogLevel(least, {
      log: ({ n }) => lines.push(n),
      notice: line => lines.push(line),
      abort: () => {},
    })
    for (const [n, level] of ['error', 'warn', 'info', undefined, 'nonsense'].entries()) logger.log({ level, n })
    logger.notice('once')
    return lines
  }
  assert.deepEqual(told('info'), [0, 1, 2, 3, 4, 'once'])
  assert.deepEqual(told('warn'), [0, 1, 3, 4, 'once'])
  assert.deepEqual(told('error'), [0, 3, 4, 'once'])
})

test('the level is one that there is', () => {
  assert.equal(readConfig([], {})?.logLevel, 'info')
  assert.equal(readConfig([], { HOLDFAST_LOG_LEVEL: 'warn' })?.logLevel, 'warn')
  assert.throws(() => readConfig(['--log-level', 'loud'], {}), /error, warn or info, not loud/)
})

/** Several files contain the release number. They must agree, and each release has its section. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { VERSION } from '../src/version.ts'

const read = (path: string): string => readFileSync(path, 'utf8')
const HEADING = /^## (?<version>\d+\.\d+\.\d+) – (?<date>unreleased|\d{4}-\d{2}-\d{2})\n\nTag: `v(?<tag>[\d.]+)`/gm

test('package.json, the lock file and the program name the same version', () => {
  const lock = JSON.parse(read('package-lock.json')) as {
    version: string
    packages: Record<string, { version: string }>
  }
  assert.equal((JSON.parse(read('package.json')) as { version: string }).version, VERSION)
  assert.equal(lock.version, VERSION)
  assert.equal(lock.packages['']!.version, VERSION)
})

test('every section of the changelog has a number, a date and the name of its tag, the newest first', () => {
  const changelog = read('CHANGELOG.md')
  const sections = [...changelog.matchAll(HEADING)].map(({ groups }) => groups!)
  assert.equal(sections.length, changelog.match(/^## /gm)?.length)
  assert.equal(sections[0]?.version, VERSION)
  assert.ok(sections.every(({ version, tag }) => version === tag))
  assert.ok(sections.slice(1).every(({ date }) => date !== 'unreleased'))
  const order = sections.map(({ version }) => version!.split('.').map(Number))
  for (const [i, one] of order.entries()) assert.ok(i === 0 || compare(one, order[i - 1]!) < 0, sections[i]!.version)
})

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((part, i) => part !== other[i])
  return at < 0 ? 0 : one[at]! - other[at]!
}

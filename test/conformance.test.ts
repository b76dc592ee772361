import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { conformance } from './conformance.ts'
import { type Citation, citations, rulePages } from './rules.ts'

/** This file runs from `dist/test`, or from `test` where the runtime reads TypeScript. */
const here = dirname(fileURLToPath(import.meta.url))
const root = resolve(here, basename(dirname(here)) === 'dist' ? '../..' : '..')

const rules = rulePages(root).flatMap(page => page.rules)
const { inSource, inTests, inTestComments } = citations(root)

const uncitedBy = (all: readonly Citation[]): string[] => {
  const found = new Set(all.map(({ id }) => id))
  return rules.map(({ id }) => id).filter(id => !found.has(id))
}

test('every rule has a number of its own and a text', () => {
  const ids = rules.map(({ id }) => id)
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  )
  assert.deepEqual(
    rules.filter(({ text }) => text.trim() === '').map(({ id }) => id),
    [],
  )
})

test('every rule is proved by a test that names it', () => {
  assert.deepEqual(uncitedBy(inTests), [])
})

test('every rule is cited by the source that implements it, unless it is an attack', () => {
  assert.deepEqual(
    uncitedBy(inSource).filter(id => !id.startsWith('A')),
    [],
  )
})

test('every number that source or a test cites is a rule', () => {
  const known = new Set(rules.map(({ id }) => id))
  const unknown = [...inSource, ...inTests, ...inTestComments].filter(({ id }) => !known.has(id))
  assert.deepEqual(
    unknown.map(({ id, file, text }) => `${file}: ${id} in ${text}`),
    [],
  )
})

test('docs/conformance.md is what `npm run conformance` makes of rules, source and tests', () => {
  assert.equal(readFileSync(join(root, 'docs', 'conformance.md'), 'utf8'), conformance(root))
})

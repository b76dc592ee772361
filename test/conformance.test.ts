import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { conformanceTable, proofs, unproved } from './conformance.ts'

/** This file runs from `dist/test`, or from `test` where the runtime reads TypeScript. */
const here = dirname(fileURLToPath(import.meta.url))
const root = resolve(here, basename(dirname(here)) === 'dist' ? '../..' : '..')

test('every promise is proved by a test that names it', () => {
  assert.deepEqual(unproved(proofs(root)), [])
})

test('docs/conformance.md is what `npm run conformance` makes of the tests', () => {
  assert.equal(readFileSync(join(root, 'docs', 'conformance.md'), 'utf8'), conformanceTable(proofs(root)))
})

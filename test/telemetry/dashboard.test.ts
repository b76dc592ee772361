/** The dashboard that comes with the server asks only for what the server measures. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { FAMILIES, type FamilyName } from '../../src/telemetry/families.ts'

const here = dirname(fileURLToPath(import.meta.url))
const root = resolve(here, basename(resolve(here, '../..')) === 'dist' ? '../../..' : '../..')
const text = readFileSync(resolve(root, 'deploy/grafana/holdfast.json'), 'utf8')

interface Panel {
  readonly id: number
  readonly title: string
  readonly type: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const dashboard = JSON.parse(text) as { readonly panels: readonly Panel[]; readonly uid: string }
const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** Histograms are asked for by their parts. */
const familyOf = (name: string): string => {
  const bare = name.replace(/_(bucket|sum|count)$/, '')
  return FAMILIES[bare as FamilyName]?.type === 'histogram' ? bare : name
}

test('every query names measures that exist, and rates are of what only grows', () => {
  assert(expressions.length > 15)
  for (const expr of expressions) {
    const names = expr.match(/holdfast_\w+/g) ?? []
    assert(names.length > 0, expr)
    for (const name of names) assert(familyOf(name) in FAMILIES, `${name} in ${expr}`)
    for (const [, name] of expr.matchAll(/(?:rate|increase)\((holdfast_\w+)/g)) {
      assert.notEqual(FAMILIES[familyOf(name!) as FamilyName].type, 'gauge', expr)
    }
    for (const name of names.filter(one => /_total\b/.test(one))) {
      assert.match(expr, new RegExp(`(rate|increase)\\(${name}`), expr)
    }
    assert.equal((expr.match(/[({[]/g) ?? []).length, (expr.match(/[)}\]]/g) ?? []).length, expr)
  }
})

test('panels have names and places of their own', () => {
  const { panels } = dashboard
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  assert.equal(new Set(panels.map(({ title }) => title)).size, panels.length)
  for (const [at, { gridPos: a, title }] of panels.entries()) {
    assert(a.x >= 0 && a.x + a.w <= 24, title)
    for (const { gridPos: b, title: other } of panels.slice(at + 1)) {
      const apart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y
      assert(apart, `${title} lies over ${other}`)
    }
  }
})

/** The bundled dashboard queries only metrics that the server exports. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type FamilyName, METRIC_FAMILIES } from '../../src/telemetry/families.ts'

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

/** Histograms are queried by their series. */
const familyOf = (name: string): string => {
  const bare = name.replace(/_(bucket|sum|count)$/, '')
  return METRIC_FAMILIES[bare as FamilyName]?.type === 'histogram' ? bare : name
}

const alerts = readFileSync(resolve(root, 'deploy/prometheus/alerts.yml'), 'utf8')

/** The rules, read line by line: the file keeps to this form, and Prometheus' own tool checks the rest. */
const rules = alerts
  .split(/\n {6}- alert: /)
  .slice(1)
  .map(rule => {
    const expr = /\n {8}expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)/.exec(rule)
    return {
      name: rule.slice(0, rule.indexOf('\n')),
      expr: (expr?.[1] ?? expr?.[2] ?? '').replaceAll(/\s+/g, ' ').trim(),
      severity: /labels: \{ severity: (\w+) \}/.exec(rule)?.[1],
      isExplained: /\n {10}summary: "/.test(rule) && /\n {10}description: "/.test(rule),
    }
  })

test('every alert has a name, a severity, a text, and an expression over existing metrics', () => {
  assert.equal(rules.length, alerts.match(/- alert:/g)!.length)
  assert.equal(new Set(rules.map(({ name }) => name)).size, rules.length)
  for (const { name, expr, severity, isExplained } of rules) {
    assert.match(name, /^Holdfast[A-Z]\w+$/)
    assert(severity === 'warning' || severity === 'critical', name)
    assert(isExplained, name)
    assert(/holdfast_\w+/.test(expr) || expr.startsWith('up{job="holdfast"}'), `${name}: ${expr}`)
  }
})

test('every query uses existing metrics, and rates are taken of counters only', () => {
  assert(expressions.length > 15)
  for (const expr of [...expressions, ...rules.map(rule => rule.expr)]) {
    if (expr.startsWith('up{')) continue
    const names = expr.match(/holdfast_\w+/g) ?? []
    assert(names.length > 0, expr)
    for (const name of names) assert(familyOf(name) in METRIC_FAMILIES, `${name} in ${expr}`)
    for (const [, name] of expr.matchAll(/(?:rate|increase)\((holdfast_\w+)/g)) {
      assert.notEqual(METRIC_FAMILIES[familyOf(name!) as FamilyName].type, 'gauge', expr)
    }
    for (const name of names.filter(one => /_total\b/.test(one))) {
      assert.match(expr, new RegExp(`(rate|increase)\\(${name}`), expr)
    }
    assert.equal((expr.match(/[({[]/g) ?? []).length, (expr.match(/[)}\]]/g) ?? []).length, expr)
  }
})

test('panels have distinct titles and positions', () => {
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

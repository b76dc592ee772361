/** A strict parser of the Prometheus text format; any deviation is an error. */
import assert from 'node:assert/strict'

export interface Series {
  readonly name: string
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

export interface Family {
  readonly type: string
  readonly help: string
  readonly series: Series[]
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\[\\\\"n])*"'
const SAMPLE = new RegExp(
  `^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?|\\+Inf|NaN)$`,
)

function labelsOf(text: string | undefined): Map<string, string> {
  const out = new Map<string, string>()
  for (const [pair] of (text ?? '').matchAll(new RegExp(LABEL, 'g'))) {
    const at = pair.indexOf('=')
    const name = pair.slice(0, at)
    assert(!out.has(name), `label ${name} twice`)
    out.set(
      name,
      pair.slice(at + 2, -1).replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c)),
    )
  }
  return out
}

export function readExposition(text: string): Map<string, Family> {
  assert(text.endsWith('\n'), 'the last line has an end')
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let current: [string, Family] | undefined
  let help: [string, string] | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    const helped = new RegExp(`^# HELP (${NAME}) (.+)$`).exec(line)
    const typed = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram)$`).exec(line)
    if (helped !== null) {
      help = [helped[1]!, helped[2]!]
    } else if (typed !== null) {
      assert.equal(help?.[0], typed[1], 'the meaning of a family stands before its type')
      assert(!families.has(typed[1]!), `${typed[1]} twice`)
      current = [typed[1]!, { type: typed[2]!, help: help![1], series: [] }]
      families.set(...current)
    } else {
      const sample = SAMPLE.exec(line)
      assert(sample !== null && current !== undefined, `no sample: ${line}`)
      const key = line.slice(0, line.lastIndexOf(' '))
      assert(!seen.has(key), `series twice: ${key}`)
      seen.add(key)
      const [family, { type, series }] = current
      const suffix = sample[1]!.slice(family.length)
      const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      assert(sample[1]!.startsWith(family) && suffixes.includes(suffix), `${sample[1]} in the family ${family}`)
      // As promtool requires: these labels belong to histograms and summaries.
      if (suffix !== '_bucket') assert.doesNotMatch(sample[2] ?? '', /(^|,)(le|quantile)=/, line)
      const value = sample[3] === '+Inf' ? Number.POSITIVE_INFINITY : Number(sample[3])
      series.push({ name: sample[1]!, labels: labelsOf(sample[2]), value })
    }
  }
  for (const [name, { type, series }] of families) if (type === 'histogram') checkHistogram(name, series)
  return families
}

/** Buckets are cumulative, and the last one, `+Inf`, equals the count. */
function checkHistogram(name: string, series: readonly Series[]): void {
  const rest = (labels: ReadonlyMap<string, string>): string =>
    JSON.stringify([...labels].filter(([label]) => label !== 'le'))
  for (const count of series.filter(one => one.name === `${name}_count`)) {
    const own = series.filter(one => one.name === `${name}_bucket` && rest(one.labels) === rest(count.labels))
    const bounds = own.map(({ labels }) => Number(labels.get('le')!.replace('+Inf', 'Infinity')))
    assert.deepEqual(
      bounds,
      [...bounds].sort((a, b) => a - b),
    )
    assert.equal(bounds.at(-1), Number.POSITIVE_INFINITY)
    assert(own.every(({ value }, at) => at === 0 || value >= own[at - 1]!.value))
    assert.equal(own.at(-1)!.value, count.value)
    assert(series.some(one => one.name === `${name}_sum` && rest(one.labels) === rest(count.labels)))
  }
}

/** The value with these labels, whatever others it has; the sum of several. */
export function figure(
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''))
  return (family?.series ?? [])
    .filter(
      one => one.name === name && Object.entries(labels).every(([label, value]) => one.labels.get(label) === value),
    )
    .reduce((sum, { value }) => sum + value, 0)
}

import type { Row } from './measure.ts'

const HEADINGS = ['name', 'value', 'unit', 'reference', 'ratio']

/** Benchmarks are not accurate beyond three digits. */
function figure(value: number | null): string {
  if (value === null) return '–'
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return value.toPrecision(3)
}

/** The rows as a text table: names and units aligned left, figures right. */
export function table(rows: readonly Row[]): string {
  const cells = rows.map(row => [
    row.name,
    figure(row.value),
    row.unit,
    figure(row.reference),
    row.ratio === null ? '–' : row.ratio.toFixed(2),
  ])
  const widths = HEADINGS.map((heading, i) => Math.max(heading.length, ...cells.map(line => line[i]!.length)))
  const line = (texts: readonly string[]): string =>
    texts.map((text, i) => (i === 0 || i === 2 ? text.padEnd(widths[i]!) : text.padStart(widths[i]!))).join('  ')
  return [line(HEADINGS), widths.map(width => '-'.repeat(width)).join('  '), ...cells.map(line)].join('\n')
}

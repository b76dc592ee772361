import type { Row } from './measure.ts'

const HEADINGS = ['name', 'value', 'unit', 'reference', 'ratio']

/** Three digits tell everything that a benchmark can. */
function figure(value: number | null): string {
  if (value === null) return '–'
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return value.toPrecision(3)
}

/** The rows for a person: names and units to the left, figures to the right. */
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

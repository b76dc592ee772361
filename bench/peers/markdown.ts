/** The comparison as a Markdown table: one row for each workload, one column for each server. */
import type { Figure } from './comparison.ts'

export interface Compared {
  readonly workload: string
  readonly figures: readonly Figure[]
}

const rounded = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3)

const processorText = (ms: number): string => (ms < 1 ? `${Math.round(ms * 1000)} µs` : `${rounded(ms)} ms`)

/** `24,300 (22,100–25,000), 70 µs`. */
const cell = ({ rate, least, most, processor }: Figure): string =>
  `${rounded(rate)} (${rounded(least)}–${rounded(most)}), ${processorText(processor)}`

export function peersTable(
  peers: readonly { readonly name: string; readonly version: string }[],
  compared: readonly Compared[],
  syncs: ReadonlyMap<string, number | undefined>,
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const bestOther = (figures: readonly Figure[]): number =>
    Math.max(...figures.filter(({ peer }) => peer !== 'Holdfast' && peer !== 'nginx').map(({ rate }) => rate))
  const rows = compared.map(({ workload, figures }) => {
    const of = (peer: string): Figure | undefined => figures.find(figure => figure.peer === peer)
    const ratio = (of('Holdfast')?.rate ?? Number.NaN) / bestOther(figures)
    const cells = peers.map(({ name }) => of(name)).map(figure => (figure === undefined ? '–' : cell(figure)))
    return line([workload, ...cells, Number.isFinite(ratio) ? ratio.toFixed(2) : '–'])
  })
  const syncCells = peers.map(({ name }) => syncs.get(name)?.toFixed(1) ?? '–')
  return [
    line(['', ...peers.map(({ name, version }) => `${name} ${version}`.trim()), 'Holdfast ÷ best peer']),
    line(Array.from({ length: peers.length + 2 }, () => '---')),
    ...rows,
    line(['syncs for one PUT', ...syncCells, '']),
  ].join('\n')
}

/** The plots of the dashboard: their series, and a sentence for those who do not see them. */
import { bytesText } from '../format.ts'
import { serverTexts } from '../texts/server.ts'
import type { Point } from './points.ts'
import { coresText, rateText, secondsText, shareText } from './values.ts'

const t = serverTexts.plots

export interface PlotShape {
  readonly title: string
  readonly series: readonly { readonly id: string; readonly label: string }[]
  readonly valueText: (value: number) => string
  /** Axes of bytes are divided at powers of two. */
  readonly isBytes?: boolean
  readonly summary: (points: readonly Point[]) => string
}

const seriesOf = (group: string, labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).map(([name, label]) => ({ id: `${group}.${name}`, label }))

const minutesOf = (points: readonly Point[]): number =>
  Math.max(1, Math.round(((points.at(-1)?.time ?? 0) - (points[0]?.time ?? 0)) / 60))

/** Of all series of a group together, or of one series. */
function totals(points: readonly Point[], group: string) {
  const sums = points.map(({ values, seconds }) => {
    const own = Object.entries(values).filter(([id]) => id === group || id.startsWith(`${group}.`))
    const value = own.reduce((sum, [, one]) => sum + (one ?? 0), 0)
    return { value, count: value * seconds }
  })
  return {
    now: sums.at(-1)?.value ?? 0,
    most: Math.max(0, ...sums.map(({ value }) => value)),
    count: Math.round(sums.reduce((sum, { count }) => sum + count, 0)),
  }
}

function diskSummary(values: Point['values'], folder: string, text: (...parts: [string, string, string]) => string) {
  const [used, free] = [values[`disk.${folder}.used`], values[`disk.${folder}.free`]]
  if (used === undefined || used === null || free === undefined || free === null) return ''
  return text(bytesText(free), bytesText(used + free), shareText(used / (used + free)))
}

const nowAndMost = (
  group: string,
  valueText: (value: number) => string,
  text: (now: string, most: string) => string,
): PlotShape['summary'] => {
  return points => {
    const { now, most } = totals(points, group)
    return text(valueText(now), valueText(most))
  }
}

const bytesRateText = (perSecond: number): string => `${bytesText(perSecond)}/s`

export const PLOTS: readonly PlotShape[] = [
  {
    title: t.requests.title,
    series: seriesOf('requests', t.requests.series),
    valueText: rateText,
    summary: points => {
      const { now, most, count } = totals(points, 'requests')
      return t.requests.summary(count, minutesOf(points), rateText(now), rateText(most))
    },
  },
  {
    title: t.latency.title,
    series: seriesOf('latency', t.latency.series),
    valueText: secondsText,
    summary: points => {
      const values = points.findLast(one => typeof one.values['latency.p50'] === 'number')?.values
      const [p50, p95, p99] = ['p50', 'p95', 'p99'].map(name => values?.[`latency.${name}`])
      if (typeof p50 !== 'number' || typeof p95 !== 'number' || typeof p99 !== 'number') return t.latency.idle
      return t.latency.summary(secondsText(p50), secondsText(p95), secondsText(p99))
    },
  },
  {
    title: t.errors.title,
    series: seriesOf('errors', t.errors.series),
    valueText: rateText,
    summary: points =>
      t.errors.summary(totals(points, 'errors').count, minutesOf(points), totals(points, 'errors.server').count),
  },
  {
    title: t.bytes.title,
    series: seriesOf('bytes', t.bytes.series),
    valueText: bytesRateText,
    isBytes: true,
    summary: points => {
      const moved = (name: string): string => bytesText(totals(points, `bytes.${name}`).count)
      return t.bytes.summary(moved('received'), moved('sent'), minutesOf(points))
    },
  },
  {
    title: t.processor.title,
    series: seriesOf('processor', t.processor.series),
    valueText: coresText,
    summary: nowAndMost('processor', coresText, t.processor.summary),
  },
  {
    title: t.memory.title,
    series: seriesOf('memory', t.memory.series),
    valueText: bytesText,
    isBytes: true,
    summary: nowAndMost('memory', bytesText, t.memory.summary),
  },
  {
    title: t.disk.title,
    series: seriesOf('disk', t.disk.series),
    valueText: bytesText,
    isBytes: true,
    summary: points => {
      const values = points.at(-1)?.values ?? {}
      return `${diskSummary(values, 'data', t.disk.summary)} ${diskSummary(values, 'blobs', t.disk.blobs)}`.trim()
    },
  },
  {
    title: t.upkeep.title,
    series: seriesOf('upkeep', t.upkeep.series),
    valueText: shareText,
    summary: nowAndMost('upkeep', shareText, t.upkeep.summary),
  },
]

/** Series that the server has: a single process has no workers. */
export const seriesIn = ({ series }: PlotShape, points: readonly Point[]) =>
  series.filter(({ id }) => points.some(({ values }) => values[id] !== undefined))

interface MinuteRow {
  readonly time: number
  readonly values: readonly (number | null)[]
}

/** Averages of each minute, the newest first. */
export function minuteRows(points: readonly Point[], ids: readonly string[]): MinuteRow[] {
  const minutes = new Map<number, Point[]>()
  for (const point of points) {
    const minute = Math.floor(point.time / 60) * 60
    minutes.set(minute, [...(minutes.get(minute) ?? []), point])
  }
  return [...minutes].reverse().map(([time, own]) => ({
    time,
    values: ids.map(id => {
      const known = own.map(({ values }) => values[id]).filter(value => typeof value === 'number')
      return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
    }),
  }))
}

/** Draws lines over time with uPlot, in the colours of the theme. */
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { WINDOW_SECONDS } from './history.ts'
import type { PlotShape } from './plots.ts'

const HEIGHT = 180
const AXIS_WIDTH = 74
const AXIS_HEIGHT = 26
/** The time that a plot shows at least; it grows to the whole window. */
const SHORTEST_SECONDS = 120
const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' })
const EXACT_CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const POWERS_OF_TWO = Array.from({ length: 60 }, (_, power) => 2 ** power)
/** The top of an axis of nothing but zeros. */
const NOTHING_TOP = 1

const themed = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name)

function timesText(times: readonly number[]): string[] {
  const isWholeMinutes = times.every(time => time % 60 === 0)
  return times.map(time => (isWholeMinutes ? CLOCK : EXACT_CLOCK).format(time * 1000))
}

/** A value between two gaps has no line. */
const isolated = (plot: uPlot, series: number): number[] => {
  const values = plot.data[series] ?? []
  const isKnown = (i: number): boolean => typeof values[i] === 'number'
  return Array.from(values.keys()).filter(i => isKnown(i) && !isKnown(i - 1) && !isKnown(i + 1))
}

function optionsOf(shape: PlotShape, labels: readonly string[], onHover: (index: number | undefined) => void) {
  const line = { stroke: () => themed('--hf-line'), width: 1 }
  const axis = {
    stroke: () => themed('--mantine-color-dimmed'),
    grid: line,
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  }
  const options: Omit<uPlot.Options, 'width' | 'height'> = {
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    padding: [8, 30, 0, 0],
    scales: {
      x: { range: (_plot, min, max) => [Math.max(max - WINDOW_SECONDS, Math.min(min, max - SHORTEST_SECONDS)), max] },
      y: { range: (_plot, _min, max) => [0, (max || NOTHING_TOP) * 1.1] },
    },
    axes: [
      { ...axis, size: AXIS_HEIGHT, space: 80, values: (_plot, times) => timesText(times) },
      {
        ...axis,
        size: AXIS_WIDTH,
        space: 40,
        values: (_plot, values) => values.map(shape.valueText),
        ...(shape.isBytes ? { incrs: POWERS_OF_TWO } : {}),
      },
    ],
    series: [
      {},
      ...labels.map((label, i) => {
        const stroke = () => themed(`--hf-plot-${i}`)
        return { label, stroke, width: 1.5, points: { show: true, size: 4, stroke, fill: stroke, filter: isolated } }
      }),
    ],
    hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? undefined)] },
  }
  return options
}

export interface LinePlot {
  draw(data: uPlot.AlignedData): void
  end(): void
}

export function linePlot(
  into: HTMLElement,
  shape: PlotShape,
  labels: readonly string[],
  onHover: (index: number | undefined) => void,
): LinePlot {
  const options = { ...optionsOf(shape, labels, onHover), width: into.clientWidth, height: HEIGHT }
  const plot = new uPlot(options, [[], ...labels.map(() => [])], into)
  const resizing = new ResizeObserver(() => plot.setSize({ width: into.clientWidth, height: HEIGHT }))
  resizing.observe(into)
  // Colours are read while drawing.
  const theming = new MutationObserver(() => plot.redraw(false, true))
  theming.observe(document.documentElement, { attributeFilter: ['data-mantine-color-scheme'] })
  return {
    draw: data => plot.setData(data),
    end() {
      resizing.disconnect()
      theming.disconnect()
      plot.destroy()
    },
  }
}

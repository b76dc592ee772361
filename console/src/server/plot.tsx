/** One plot with its legend, and the same in words or as a table. */
import { Paper, Table, Text, Title } from '@mantine/core'
import { useEffect, useId, useRef, useState } from 'react'
import { serverTexts } from '../texts/server.ts'
import { texts } from '../texts/texts.ts'
import { type LinePlot, linePlot } from './line-plot.ts'
import classes from './plot.module.css'
import { minuteRows, type PlotShape, seriesIn } from './plots.ts'
import type { Point } from './points.ts'

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' })

interface PlotProps {
  readonly shape: PlotShape
  readonly points: readonly Point[]
}

const shown = ({ valueText }: PlotShape, value: number | null | undefined): string =>
  value === null || value === undefined ? texts.unknown : valueText(value)

/** The lines. What they say is in the legend and the summary. */
function Lines({ shape, points, onHover }: PlotProps & { readonly onHover: (index: number | undefined) => void }) {
  const into = useRef<HTMLDivElement>(null)
  const plot = useRef<LinePlot>(undefined)
  const series = seriesIn(shape, points)
  const names = series.map(({ label }) => label).join('\n')
  useEffect(() => {
    plot.current = linePlot(into.current!, shape, names.split('\n'), onHover)
    return () => plot.current?.end()
  }, [shape, names, onHover])
  useEffect(() => {
    plot.current?.draw([
      points.map(({ time }) => time),
      ...seriesIn(shape, points).map(({ id }) => points.map(({ values }) => values[id] ?? null)),
    ])
  })
  return <div ref={into} className={classes.lines} aria-hidden="true" />
}

function Legend({ shape, points, at }: PlotProps & { readonly at: number | undefined }) {
  const point = points[at ?? points.length - 1] ?? points.at(-1)
  return (
    <ul className={classes.legend}>
      {seriesIn(shape, points).map(({ id, label }, i) => (
        <li key={id}>
          <span className={classes.swatch} data-series={i} aria-hidden="true" />
          {label} <span className={classes.value}>{shown(shape, point?.values[id])}</span>
        </li>
      ))}
    </ul>
  )
}

export function PlotFigure({ shape, points }: PlotProps) {
  const [at, setAt] = useState<number>()
  const id = useId()
  return (
    <Paper component="figure" withBorder p="md" m={0} aria-labelledby={id} className={classes.figure}>
      <Title order={2} size="h5" id={id}>
        {shape.title}
      </Title>
      <Text size="sm" c="dimmed" className={classes.summary}>
        {shape.summary(points)}
      </Text>
      <Lines shape={shape} points={points} onHover={setAt} />
      <Legend shape={shape} points={points} at={at} />
    </Paper>
  )
}

export function PlotTable({ shape, points }: PlotProps) {
  const series = seriesIn(shape, points)
  const label = serverTexts.dashboard.tableLabel(shape.title)
  const rows = minuteRows(
    points,
    series.map(({ id }) => id),
  )
  return (
    <Paper withBorder p="md" role="group" tabIndex={0} aria-label={shape.title} className={classes.table}>
      <Title order={2} size="h5">
        {shape.title}
      </Title>
      <Text size="sm" c="dimmed">
        {shape.summary(points)}
      </Text>
      <Table verticalSpacing={4} mt="xs" aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{serverTexts.dashboard.time}</Table.Th>
            {series.map(({ id, label: name }) => (
              <Table.Th key={id} className={classes.number}>
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ time, values }) => (
            <Table.Tr key={time}>
              <Table.Th scope="row">{CLOCK.format(time * 1000)}</Table.Th>
              {series.map(({ id }, i) => (
                <Table.Td key={id} className={classes.number}>
                  {shown(shape, values[i])}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  )
}

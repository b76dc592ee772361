/** The server at a glance, live. */
import { Alert, List, Paper, SegmentedControl, Skeleton, Text } from '@mantine/core'
import { bytesText, timeText } from '../format.ts'
import { Icon } from '../parts/icons.tsx'
import { Problem } from '../parts/problem.tsx'
import { Link, navigate, toServer, usePlace } from '../router.tsx'
import { serverTexts } from '../texts/server.ts'
import { texts } from '../texts/texts.ts'
import { concernsOf } from './concerns.ts'
import type { Reading } from './counters.ts'
import classes from './dashboard-page.module.css'
import { useHistory } from './history.ts'
import { MaintenanceTable } from './maintenance-table.tsx'
import { PlotFigure, PlotTable } from './plot.tsx'
import { PLOTS } from './plots.ts'
import type { Point } from './points.ts'
import { usePolled } from './use-polled.ts'
import { durationText, rateText, secondsText } from './values.ts'

const t = serverTexts.dashboard
const FACTS_MS = 10_000

interface TileProps {
  readonly title: string
  readonly value: string
  readonly note: string
  readonly href?: string
}

function Tile({ title, value, note, href }: TileProps) {
  return (
    <Paper component="section" withBorder p="md" aria-label={title}>
      <Text size="sm" c="dimmed">
        {title}
      </Text>
      <Text className={classes.figure}>{href === undefined ? value : <Link href={href}>{value}</Link>}</Text>
      <Text size="sm">{note}</Text>
    </Paper>
  )
}

function ServerTile() {
  const { data } = usePolled('GetServer', FACTS_MS)
  const value = data === undefined ? texts.unknown : data.ready === false ? t.notReady : t.ready
  const note = data === undefined ? '' : t.about(data.version, durationText(data.uptimeSeconds ?? 0))
  return <Tile title={t.state} value={value} note={note} href={toServer('configuration')} />
}

function DamageTile() {
  const { data } = usePolled('GetDamage', FACTS_MS)
  if (data === undefined) return <Tile title={t.damage} value={texts.unknown} note="" />
  const count = data.scrub.damaged + data.lostRecords
  const { state, endedAt } = data.scrub
  const ended = endedAt === undefined ? t.neverScrubbed : t.lastScrub(timeText(new Date(endedAt)))
  return (
    <Tile
      title={t.damage}
      value={count === 0 ? t.noDamage : t.someDamage(count)}
      note={state === 'running' ? t.scrubRunning : ended}
      href={toServer('integrity')}
    />
  )
}

const sumOf = (values: Point['values'] | undefined, group: string): number =>
  Object.entries(values ?? {}).reduce((sum, [id, value]) => (id.startsWith(group) ? sum + (value ?? 0) : sum), 0)

function Tiles({ points, latest }: { readonly points: readonly Point[]; readonly latest: Reading }) {
  const values = points.at(-1)?.values
  const inFlight = latest.samples.find(({ name }) => name === 'holdfast_requests_in_flight')?.value ?? 0
  const [p50, p95] = [values?.['latency.p50'], values?.['latency.p95']]
  const [free, used] = [values?.['disk.data.free'] ?? 0, values?.['disk.data.used'] ?? 0]
  return (
    <div className={classes.tiles}>
      <ServerTile />
      <Tile title={t.requestsNow} value={rateText(sumOf(values, 'requests.'))} note={t.inFlight(inFlight)} />
      <Tile
        title={t.latencyNow}
        value={typeof p95 === 'number' ? secondsText(p95) : texts.unknown}
        note={typeof p50 === 'number' ? t.median(secondsText(p50)) : t.latencyIdle}
      />
      <Tile title={t.diskFree} value={bytesText(free)} note={t.diskOf(bytesText(free + used))} />
      <DamageTile />
    </div>
  )
}

function Concerns({ first, latest }: { readonly first: Reading; readonly latest: Reading }) {
  const concerns = concernsOf(first, latest)
  if (concerns.length === 0) return undefined
  return (
    <Alert color="red" variant="outline" icon={<Icon name="alert" />} title={serverTexts.attention.title}>
      <List size="sm">
        {concerns.map(({ text, href }) => (
          <List.Item key={text}>
            {text} {href !== undefined && <Link href={href}>{serverTexts.attention.show}</Link>}
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}

export default function DashboardPage() {
  const { points, first, latest, error } = useHistory()
  const isTable = usePlace().query.get('view') === 'tables'
  if (first === undefined || latest === undefined) {
    return error === undefined ? <Skeleton height={420} aria-label={texts.loading} /> : <Problem error={error} />
  }
  const Shown = isTable ? PlotTable : PlotFigure
  return (
    <>
      <Concerns first={first} latest={latest} />
      <Tiles points={points} latest={latest} />
      <SegmentedControl
        aria-label={t.view}
        className={classes.view}
        transitionDuration={0}
        data={[
          { value: 'plots', label: t.plots },
          { value: 'tables', label: t.tables },
        ]}
        value={isTable ? 'tables' : 'plots'}
        onChange={view => navigate(toServer() + (view === 'tables' ? '?view=tables' : ''), { replace: true })}
      />
      {error !== undefined && <Text role="status">{t.paused}</Text>}
      {points.length < 2 ? (
        <Text role="status">{t.waiting}</Text>
      ) : (
        <div className={classes.plots}>
          {PLOTS.map(shape => (
            <Shown key={shape.title} shape={shape} points={points} />
          ))}
        </div>
      )}
      <MaintenanceTable latest={latest} />
    </>
  )
}

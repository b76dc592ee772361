/** The processes that serve requests, and the other servers of a cluster. */
import { Skeleton, Text } from '@mantine/core'
import type { AdminApi } from '../api/admin-api.ts'
import { bytesText, countText } from '../format.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { serverTexts } from '../texts/server.ts'
import { texts } from '../texts/texts.ts'
import { useHistory } from './history.ts'
import { Members } from './members.tsx'
import { usePolled } from './use-polled.ts'
import { durationText, spentText } from './values.ts'

const t = serverTexts.processes
const EVERY_MS = 2000

type Process = AdminApi['ListProcesses']['output']['processes'][number]

const COLUMNS: readonly Column[] = [
  { title: t.pid },
  { title: t.state },
  { title: t.up, isNumber: true },
  { title: t.memory, isNumber: true },
  { title: t.processor, isNumber: true, isWide: true },
  { title: t.inFlight, isNumber: true },
]

/** A process that has just started has not reported its figures yet. */
const known = (value: number | undefined, text: (value: number) => string): string =>
  value === undefined ? texts.unknown : text(value)

const rowOf = ({ pid, listening, startedAt, residentBytes, cpuSeconds, requestsInFlight }: Process, now: number) => ({
  id: String(pid),
  cells: [
    String(pid),
    listening ? t.serving : t.starting,
    durationText((now - Date.parse(startedAt)) / 1000),
    known(residentBytes, bytesText),
    known(cpuSeconds, spentText),
    known(requestsInFlight, countText),
  ],
})

export default function ProcessesPage() {
  const { data, error, dataUpdatedAt, refetch } = usePolled('ListProcesses', EVERY_MS)
  const { latest } = useHistory()
  const restarts = latest?.samples.find(({ name }) => name === 'holdfast_worker_restarts_total')?.value
  return (
    <>
      <Section title={t.workers}>
        <Text size="sm" c="dimmed">
          {t.workersText}
        </Text>
        {error !== null && <Problem error={error} retry={() => void refetch()} />}
        {data === undefined && error === null && <Skeleton height={120} aria-label={texts.loading} />}
        {data !== undefined && (
          <DataTable
            label={t.workers}
            columns={COLUMNS}
            rows={data.processes.map(process => rowOf(process, dataUpdatedAt))}
          />
        )}
        {restarts !== undefined && <Text size="sm">{t.restarts(restarts)}</Text>}
      </Section>
      <Members />
    </>
  )
}

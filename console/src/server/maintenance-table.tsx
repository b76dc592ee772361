/** The tasks that the server carries out on its own. */
import { Paper, Title } from '@mantine/core'
import { countText, timeText } from '../format.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { serverTexts } from '../texts/server.ts'
import type { Reading } from './counters.ts'
import { spentText } from './values.ts'

const t = serverTexts.maintenance

function tasksIn({ samples }: Reading) {
  const family = (name: string) => samples.filter(sample => sample.name === `holdfast_maintenance_${name}`)
  const of = (name: string, worker: string): number =>
    family(name).find(({ labels }) => labels.worker === worker)?.value ?? 0
  return family('steps_total').map(({ labels: { worker = '' }, value }) => ({
    worker,
    steps: value,
    failures: of('failures_total', worker),
    seconds: of('seconds_total', worker),
    lastAt: of('last_success_timestamp_seconds', worker),
  }))
}

const COLUMNS: readonly Column[] = [
  { title: t.task },
  { title: t.last },
  { title: t.took, isNumber: true, isWide: true },
  { title: t.steps, isNumber: true, isWide: true },
  { title: t.failures, isNumber: true },
]

export function MaintenanceTable({ latest }: { readonly latest: Reading }) {
  const rows = tasksIn(latest).map(({ worker, steps, failures, seconds, lastAt }) => ({
    id: worker,
    cells: [
      t.names[worker] ?? worker,
      lastAt === 0 ? t.never : timeText(new Date(lastAt * 1000)),
      spentText(seconds),
      countText(steps),
      countText(failures),
    ],
  }))
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h4">
        {t.title}
      </Title>
      <DataTable label={t.title} columns={COLUMNS} rows={rows} />
    </Paper>
  )
}

/** The server itself: what it is, and the settings it runs with. */
import { Skeleton, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { AdminApi } from '../api/admin-api.ts'
import { type Session, useSession } from '../api/session.tsx'
import { exactTimeText, visibleText } from '../format.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Facts } from '../parts/facts.tsx'
import { Icon } from '../parts/icons.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { serverTexts } from '../texts/server.ts'
import { texts } from '../texts/texts.ts'
import { ClockSection } from './clock-section.tsx'
import type { Settings } from './commands.ts'
import { usePolled } from './use-polled.ts'
import { durationText } from './values.ts'

const t = serverTexts.configuration
const EVERY_MS = 10_000
const SETTINGS_MS = 60_000

type Server = AdminApi['GetServer']['output']

const timeOf = (time: string | undefined): string =>
  time === undefined ? texts.unknown : exactTimeText(new Date(time))

const factsOf = (server: Server, { objectUrl }: Session): (readonly [string, string])[] => [
  [t.version, server.version],
  [t.runtime, server.runtime],
  [t.started, timeOf(server.startedAt)],
  [t.up, durationText(server.uptimeSeconds ?? 0)],
  [t.region, server.region],
  [t.objectApi, objectUrl],
  [t.console, window.location.origin],
  ...(server.certificateExpiresAt === undefined ? [] : [[t.certificate, timeOf(server.certificateExpiresAt)] as const]),
  [t.counts, t.countsText(server.accounts, server.buckets)],
]

/** The server shows that a secret is set, and nothing of it. */
const SECRET = 'set'

function valueText(name: string, value: Settings[string]): string {
  if (value === true) return t.yes
  if (value === false) return t.no
  if (typeof value === 'object') return value.length === 0 ? t.none : value.join(', ')
  return value === SECRET && name.includes('token') ? t.secret : visibleText(String(value))
}

const COLUMNS: readonly Column[] = [{ title: t.name }, { title: t.value }]

function SettingsSection({ settings }: { readonly settings: Settings }) {
  const [search, setSearch] = useState('')
  const wanted = search.trim().toLowerCase()
  const rows = Object.entries(settings)
    .map(([name, value]) => ({ id: name, cells: [name, valueText(name, value)] }))
    .filter(({ cells }) => cells.some(cell => cell.toLowerCase().includes(wanted)))
  return (
    <Section title={t.settings}>
      <Text size="sm" c="dimmed">
        {t.settingsText}
      </Text>
      <TextInput
        aria-label={t.search}
        placeholder={t.search}
        leftSection={<Icon name="search" />}
        value={search}
        onChange={event => setSearch(event.currentTarget.value)}
        w="100%"
        maw={360}
      />
      {rows.length === 0 ? (
        <Text role="status">{t.noMatch(search)}</Text>
      ) : (
        <DataTable label={t.settings} columns={COLUMNS} rows={rows} />
      )}
    </Section>
  )
}

export default function ConfigurationPage() {
  const server = usePolled('GetServer', EVERY_MS)
  const settings = usePolled('GetSettings', SETTINGS_MS)
  const session = useSession()
  const error = server.error ?? settings.error
  return (
    <>
      {error !== null && <Problem error={error} />}
      {server.data === undefined || settings.data === undefined ? (
        error === null && <Skeleton height={300} aria-label={texts.loading} />
      ) : (
        <>
          <Facts title={t.about} rows={factsOf(server.data, session)} />
          <ClockSection />
          <SettingsSection settings={settings.data.settings} />
        </>
      )}
    </>
  )
}

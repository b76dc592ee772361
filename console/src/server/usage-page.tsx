/** Stored objects and bytes, by account. */
import { Skeleton, Text } from '@mantine/core'
import type { AdminApi } from '../api/admin-api.ts'
import { bytesText, countText, visibleText } from '../format.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { Facts } from '../parts/facts.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { serverTexts } from '../texts/server.ts'
import { texts } from '../texts/texts.ts'
import { usePolled } from './use-polled.ts'

const t = serverTexts.usage
const EVERY_MS = 15_000
const NAMES_MS = 60_000

type Usage = AdminApi['GetUsage']['output']

const COLUMNS: readonly Column[] = [
  { title: t.account },
  { title: t.buckets, isNumber: true, isWide: true },
  { title: t.objects, isNumber: true },
  { title: t.bytes, isNumber: true },
  { title: t.versions, isNumber: true, isWide: true },
  { title: t.versionBytes, isNumber: true, isWide: true },
  { title: t.uploads, isNumber: true, isWide: true },
]

const totalRows = (usage: Usage): (readonly [string, string])[] => [
  [t.buckets, countText(usage.buckets)],
  [t.objects, countText(usage.objects)],
  [t.bytes, bytesText(usage.bytes)],
  [t.versions, countText(usage.versions)],
  [t.versionBytes, bytesText(usage.versionBytes)],
  [t.markers, countText(usage.deleteMarkers)],
  [t.uploads, countText(usage.uploads)],
  [t.uploadBytes, bytesText(usage.uploadBytes)],
]

type Names = ReadonlyMap<string, string>

function AccountName({ id, name = id }: { readonly id: string; readonly name?: string | undefined }) {
  return (
    <>
      {visibleText(name)}{' '}
      {name !== id && (
        <Text span size="xs" c="dimmed">
          {id}
        </Text>
      )}
    </>
  )
}

const accountRows = ({ accounts }: Usage, names: Names) =>
  [...accounts]
    .sort((a, b) => b.versionBytes - a.versionBytes)
    .map(account => ({
      id: account.accountId,
      cells: [
        <AccountName key="name" id={account.accountId} name={names.get(account.accountId)} />,
        countText(account.buckets),
        countText(account.objects),
        bytesText(account.bytes),
        countText(account.versions),
        bytesText(account.versionBytes),
        countText(account.uploads),
      ],
    }))

export default function UsagePage() {
  const { data, error, isPending, refetch } = usePolled('GetUsage', EVERY_MS)
  const { data: register } = usePolled('ListAccounts', NAMES_MS)
  const names = new Map(register?.accounts.map(({ accountId, displayName }) => [accountId, displayName]))
  if (error !== null && data === undefined) return <Problem error={error} retry={() => void refetch()} />
  if (isPending || data === undefined) return <Skeleton height={240} aria-label={texts.loading} />
  if (data.buckets === 0) return <EmptyState icon="bucket" title={t.emptyTitle} text={t.empty} />
  return (
    <>
      <Facts title={t.total} rows={totalRows(data)}>
        {data.uncountedBuckets > 0 && <Text role="status">{t.uncounted(data.uncountedBuckets)}</Text>}
      </Facts>
      <Section title={t.accounts}>
        <DataTable label={t.accounts} columns={COLUMNS} rows={accountRows(data, names)} />
        <Text size="sm" c="dimmed">
          {t.note}
        </Text>
      </Section>
    </>
  )
}

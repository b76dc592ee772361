/** All ledgers, and the key that signs them. */
import { Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { useSession } from '../api/session.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { Link, toLedger } from '../router.tsx'
import { ledgerTexts } from '../texts/ledger.ts'
import { texts } from '../texts/texts.ts'
import { kindNamed, STORE } from './entry.ts'
import classes from './ledger-page.module.css'
import { LedgerPage } from './ledger-page.tsx'
import { SigningKey } from './signing-key.tsx'

const t = ledgerTexts.list

function Ledgers({ buckets }: { readonly buckets: readonly string[] }) {
  if (buckets.length === 0) return <EmptyState icon="ledger" title={t.emptyTitle} text={t.empty} />
  return (
    <>
      <ul className={classes.ledgers} aria-label={t.label}>
        {buckets.map(bucket => (
          <li key={bucket}>
            <Link href={toLedger(bucket)}>{bucket === STORE ? t.store : bucket}</Link>
            {bucket === STORE && (
              <Text size="sm" c="dimmed">
                {t.storeText}
              </Text>
            )}
          </li>
        ))}
      </ul>
      <Text size="sm" c="dimmed">
        {t.outlives}
      </Text>
    </>
  )
}

function LedgersPage() {
  const { data, error, refetch } = useQuery({
    queryKey: ['ledgers'],
    queryFn: ({ signal }) => call('ListLedgers', {}, { signal }),
  })
  return (
    <div className={classes.page}>
      <PageHead title={t.title} />
      <Text maw={760}>{t.lead}</Text>
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {error === null && data === undefined && <Skeleton height={200} aria-label={texts.loading} />}
      {data !== undefined && (
        <>
          <Ledgers buckets={data.buckets} />
          <Section title={t.key}>
            <SigningKey publicKey={data.publicKey} />
          </Section>
        </>
      )}
    </div>
  )
}

interface LedgerAreaProps {
  /** Without one, all are listed. */
  readonly bucket: string | undefined
  readonly query: URLSearchParams
}

export default function LedgerArea({ bucket, query }: LedgerAreaProps) {
  const { administrator } = useSession()
  if (!administrator) return <EmptyState icon="ledger" title={t.adminOnly} text={t.adminOnlyText} />
  if (bucket === undefined) return <LedgersPage />
  const filter = { text: query.get('filter') ?? '', kind: kindNamed(query.get('kind')) }
  const entry = Number(query.get('entry') ?? Number.NaN)
  return <LedgerPage key={bucket} {...{ bucket, filter }} entry={Number.isInteger(entry) ? entry : undefined} />
}

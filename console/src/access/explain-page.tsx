/** Explains who may do what: the question is in the address, the answer below the form. */
import { Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'
import pageClasses from '../pages/page.module.css'
import { EmptyState } from '../parts/empty-state.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import type { ExplainFields } from '../router.tsx'
import { explainTexts as t } from '../texts/explain.ts'
import { texts } from '../texts/texts.ts'
import { AccessTabs } from './access-tabs.tsx'
import { ExplainAnswer } from './explain-answer.tsx'
import { ExplainForm } from './explain-form.tsx'

const FIELDS = ['as', 'action', 'bucket', 'key', 'version', 'address', 'tls', 'time', 'bypass'] as const

function fieldsIn(query: URLSearchParams): ExplainFields {
  return Object.fromEntries(FIELDS.map(name => [name, query.get(name) ?? undefined]))
}

function questionOf(fields: ExplainFields): AdminApi['Explain']['input'] {
  const { as, action = '', bucket, key, version, address, tls, time, bypass } = fields
  const conditions = {
    ...(address === undefined ? {} : { 'aws:SourceIp': address }),
    ...(tls === undefined ? {} : { 'aws:SecureTransport': tls }),
    ...(time === undefined ? {} : { 'aws:CurrentTime': new Date(time).toISOString() }),
  }
  const versionId = version === undefined ? {} : { versionId: version }
  return { as, action, bucket, key, ...versionId, ...(bypass === 'yes' ? { bypass: true } : {}), conditions }
}

export function ExplainPage({ query }: { readonly query: URLSearchParams }) {
  const fields = fieldsIn(query)
  const isAsked = fields.action !== undefined
  const { data, error, isLoading } = useQuery({
    queryKey: ['explain', query.toString()],
    queryFn: ({ signal }) => call('Explain', questionOf(fields), { signal }),
    enabled: isAsked,
    staleTime: 0,
  })
  return (
    <div className={pageClasses.page}>
      <PageHead title={t.title} />
      <AccessTabs />
      <Text>{t.lead}</Text>
      <ExplainForm key={query.toString()} initial={fields} />
      {error !== null && <Problem error={error} />}
      {isLoading && <Skeleton height={160} aria-label={texts.loading} />}
      {!isAsked && <EmptyState icon="key" title={t.emptyTitle} text={t.empty} />}
      {data !== undefined && <ExplainAnswer fields={fields} answer={data} />}
    </div>
  )
}

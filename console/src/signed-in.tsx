/** Everything behind the sign-in form. Chooses the page for an address; pages are loaded when they are first opened. */
import { Button } from '@mantine/core'
import { lazy, type ReactNode, Suspense } from 'react'
import { type Session, SessionProvider, useSessionCheck } from './api/session.tsx'
import { visibleText } from './format.ts'
import { EmptyState } from './parts/empty-state.tsx'
import { ErrorBoundary } from './parts/error-boundary.tsx'
import { Waiting } from './parts/waiting.tsx'
import { navigate, type ObjectTab, type Place, SERVER_PARTS, toBuckets, usePlace } from './router.tsx'
import { Shell } from './shell/shell.tsx'
import { texts } from './texts/texts.ts'

const BucketsPage = lazy(() => import('./pages/buckets-page.tsx'))
const ObjectsPage = lazy(() => import('./pages/objects-page.tsx'))
const ObjectPage = lazy(() => import('./pages/object-page.tsx'))
const HoldsPage = lazy(() => import('./holds/holds-page.tsx'))
const ServerPage = lazy(() => import('./server/server-page.tsx'))
const RulesPage = lazy(() => import('./rules/rules-page.tsx'))
const LedgerArea = lazy(() => import('./ledger/ledger-area.tsx'))
const AccessArea = lazy(() => import('./access/access-area.tsx'))
const BucketAccessPage = lazy(() => import('./access/bucket-access-page.tsx'))
const BucketSettingsPage = lazy(() => import('./pages/bucket-settings-page.tsx'))

const TABS: readonly string[] = Object.keys(texts.object.tabs)

function objectPage(bucket: string, query: URLSearchParams): ReactNode {
  const key = query.get('key')
  if (key === null) return undefined
  const tab = TABS.includes(query.get('tab') ?? '') ? (query.get('tab') as ObjectTab) : 'overview'
  const place = { bucket, key, versionId: query.get('version') ?? undefined }
  return <ObjectPage key={`${bucket}/${key}`} place={place} tab={tab} />
}

function objectsPage(bucket: string, query: URLSearchParams): ReactNode {
  const prefix = query.get('prefix') ?? ''
  const search = query.get('search') ?? ''
  return <ObjectsPage key={bucket} {...{ bucket, prefix, search }} isDeleted={query.get('deleted') === 'yes'} />
}

function rulesPage(bucket: string, query: URLSearchParams): ReactNode {
  const view = query.get('view') === 'document' ? 'document' : 'form'
  return <RulesPage key={bucket} bucket={bucket} kind={query.get('kind')} view={view} />
}

/** Pages of a bucket by the segment after its name. */
const BUCKET_PAGES: ReadonlyMap<string, (bucket: string, query: URLSearchParams) => ReactNode> = new Map([
  ['', objectsPage],
  ['object', objectPage],
  ['holds', (bucket, query) => <HoldsPage key={bucket} bucket={bucket} prefix={query.get('prefix') ?? ''} />],
  ['rules', rulesPage],
  ['access', bucket => <BucketAccessPage key={bucket} bucket={bucket} />],
  ['settings', bucket => <BucketSettingsPage key={bucket} bucket={bucket} />],
])

/** Pages by the first segment. */
const AREA_PAGES: ReadonlyMap<string, (place: Place) => ReactNode> = new Map<string, (place: Place) => ReactNode>([
  ['access', place => <AccessArea place={place} />],
  [
    'buckets',
    ({ segments: [, bucket, part = ''], query }) => {
      if (bucket === undefined) return <BucketsPage />
      // No bucket has such a name, and pages show names of buckets as they are.
      return visibleText(bucket) === bucket ? BUCKET_PAGES.get(part)?.(bucket, query) : undefined
    },
  ],
  [
    'server',
    ({ segments: [, named = ''] }) => {
      const part = SERVER_PARTS.find(one => one === named)
      return part === undefined ? undefined : <ServerPage part={part} />
    },
  ],
  ['ledger', ({ segments: [, bucket], query }) => <LedgerArea bucket={bucket} query={query} />],
])

function Page() {
  const place = usePlace()
  const page = AREA_PAGES.get(place.segments[0] ?? 'buckets')?.(place)
  if (page !== undefined) return page
  return (
    <EmptyState icon="search" title={texts.unknownPage.title} text={texts.unknownPage.text}>
      <Button onClick={() => navigate(toBuckets())}>{texts.unknownPage.home}</Button>
    </EmptyState>
  )
}

export default function SignedIn({ session }: { readonly session: Session }) {
  useSessionCheck()
  const { address } = usePlace()
  return (
    <SessionProvider value={session}>
      <Shell>
        <ErrorBoundary address={address}>
          <Suspense fallback={<Waiting />}>
            <Page />
          </Suspense>
        </ErrorBoundary>
      </Shell>
    </SessionProvider>
  )
}

/** Chooses the page for an address. Pages are loaded when they are first opened. */
import { Button, Center, Loader } from '@mantine/core'
import { lazy, Suspense, useEffect, useState } from 'react'
import { whenSessionEnds } from './api/client.ts'
import { forgetSession, SessionProvider, useSessionQuery } from './api/session.tsx'
import { SignInPage } from './pages/sign-in-page.tsx'
import { EmptyState } from './parts/empty-state.tsx'
import { Problem } from './parts/problem.tsx'
import { navigate, type ObjectTab, toBuckets, usePlace } from './router.tsx'
import { Shell } from './shell/shell.tsx'
import { texts } from './texts.ts'

const BucketsPage = lazy(() => import('./pages/buckets-page.tsx'))
const ObjectsPage = lazy(() => import('./pages/objects-page.tsx'))
const ObjectPage = lazy(() => import('./pages/object-page.tsx'))
const BucketSettingsPage = lazy(() => import('./pages/bucket-settings-page.tsx'))

const TABS: readonly string[] = Object.keys(texts.object.tabs)

function Page() {
  const { segments, query } = usePlace()
  const [top = 'buckets', bucket, part] = segments
  if (top === 'buckets' && bucket === undefined) return <BucketsPage />
  if (top === 'buckets' && bucket !== undefined && part === undefined) {
    const prefix = query.get('prefix') ?? ''
    const search = query.get('search') ?? ''
    return <ObjectsPage key={bucket} {...{ bucket, prefix, search }} isDeleted={query.get('deleted') === 'yes'} />
  }
  const key = query.get('key')
  if (bucket !== undefined && part === 'object' && key !== null) {
    const tab = TABS.includes(query.get('tab') ?? '') ? (query.get('tab') as ObjectTab) : 'overview'
    return (
      <ObjectPage
        key={`${bucket}/${key}`}
        place={{ bucket, key, versionId: query.get('version') ?? undefined }}
        tab={tab}
      />
    )
  }
  if (bucket !== undefined && part === 'settings') return <BucketSettingsPage key={bucket} bucket={bucket} />
  return (
    <EmptyState icon="search" title={texts.unknownPage.title} text={texts.unknownPage.text}>
      <Button onClick={() => navigate(toBuckets())}>{texts.unknownPage.home}</Button>
    </EmptyState>
  )
}

const Waiting = () => (
  <Center p="xl">
    <Loader aria-label={texts.loading} role="status" />
  </Center>
)

export function App() {
  const { data: session, error, isPending, refetch } = useSessionQuery()
  const [hasEnded, setEnded] = useState(false)
  useEffect(() => {
    whenSessionEnds(() => {
      setEnded(true)
      forgetSession()
    })
  }, [])
  if (isPending) return <Waiting />
  if (error !== null && session === undefined) {
    return (
      <Center p="xl">
        <Problem error={error} retry={() => void refetch()} />
      </Center>
    )
  }
  if (session === null || session === undefined) return <SignInPage hasEnded={hasEnded} />
  return (
    <SessionProvider value={session}>
      <Shell>
        <Suspense fallback={<Waiting />}>
          <Page />
        </Suspense>
      </Shell>
    </SessionProvider>
  )
}

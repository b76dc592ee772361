/** The pages of the server. */
import { Center, Loader } from '@mantine/core'
import { type ComponentType, lazy, Suspense } from 'react'
import { useSession } from '../api/session.tsx'
import pageClasses from '../pages/page.module.css'
import { AdministratorsOnly } from '../parts/administrators-only.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { TabLinks } from '../parts/tab-links.tsx'
import { SERVER_PARTS, type ServerPart, toServer } from '../router.tsx'
import { serverTexts as t } from '../texts/server.ts'
import { texts } from '../texts/texts.ts'

const PAGES: Readonly<Record<ServerPart, ComponentType>> = {
  '': lazy(() => import('./dashboard-page.tsx')),
  processes: lazy(() => import('./processes-page.tsx')),
  integrity: lazy(() => import('./integrity-page.tsx')),
  encryption: lazy(() => import('./encryption-page.tsx')),
  usage: lazy(() => import('./usage-page.tsx')),
  configuration: lazy(() => import('./configuration-page.tsx')),
}

function Tabs({ part }: { readonly part: ServerPart }) {
  const tabs = SERVER_PARTS.map(one => ({ label: t.tabs[one], href: toServer(one), isHere: one === part }))
  return <TabLinks label={t.tabsLabel} tabs={tabs} />
}

export default function ServerPage({ part }: { readonly part: ServerPart }) {
  const { administrator } = useSession()
  const Part = PAGES[part]
  return (
    <div className={pageClasses.page}>
      <PageHead title={t.title} />
      {administrator ? <Tabs part={part} /> : <AdministratorsOnly />}
      <Suspense
        fallback={
          <Center p="xl">
            <Loader aria-label={texts.loading} role="status" />
          </Center>
        }
      >
        {administrator && <Part />}
      </Suspense>
    </div>
  )
}

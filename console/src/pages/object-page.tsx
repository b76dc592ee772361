/** One object: what it is, what is in it, and its versions. */
import { Alert, Anchor, Button, Skeleton, Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { ApiFailure } from '../api/failure.ts'
import { usePermissions } from '../api/permissions.ts'
import { lastPart, visibleText } from '../format.ts'
import { objectDetails } from '../objects/details.ts'
import { download } from '../objects/downloads.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { EmptyState } from '../parts/empty-state.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Icon } from '../parts/icons.tsx'
import { notifyError } from '../parts/notices.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { Link, navigate, type ObjectTab, toFolder, toObject } from '../router.tsx'
import { texts } from '../texts/texts.ts'
import { DeleteDialog } from './delete-dialog.tsx'
import { FolderPath } from './folder-path.tsx'
import { ObjectOverview } from './object-overview.tsx'
import classes from './page.module.css'

const ObjectPreview = lazy(() => import('./object-preview.tsx'))
const ObjectHolds = lazy(() => import('../holds/object-holds.tsx'))
const ObjectVersions = lazy(() => import('./object-versions.tsx'))
const ShareDialog = lazy(() => import('./share-dialog.tsx'))
const RenameDialog = lazy(() => import('../copies/rename-dialog.tsx'))

const t = texts.object

const folderOf = (key: string): string => key.slice(0, key.replace(/\/$/, '').lastIndexOf('/') + 1)

function Actions({ place }: { readonly place: ObjectPlace }) {
  const { bucket, key } = place
  const [dialog, setDialog] = useState<'share' | 'rename' | 'delete'>()
  const close = (): void => setDialog(undefined)
  const { read, remove } = usePermissions({
    read: { action: 's3:GetObject', bucket, key },
    remove: { action: 's3:DeleteObject', bucket, key },
  })
  const fetchIt = (): void => {
    download(place).catch(notifyError)
  }
  return (
    <>
      <GuardedButton permission={read} leftSection={<Icon name="download" />} onClick={fetchIt}>
        {t.download}
      </GuardedButton>
      <GuardedButton
        permission={read}
        variant="default"
        leftSection={<Icon name="share" />}
        onClick={() => setDialog('share')}
      >
        {t.share}
      </GuardedButton>
      <GuardedButton
        permission={read}
        variant="default"
        leftSection={<Icon name="file" />}
        onClick={() => setDialog('rename')}
      >
        {t.rename}
      </GuardedButton>
      <GuardedButton
        permission={remove}
        color="red"
        variant="outline"
        leftSection={<Icon name="trash" />}
        onClick={() => setDialog('delete')}
      >
        {t.delete}
      </GuardedButton>
      <Suspense>
        {dialog === 'share' && <ShareDialog place={place} close={close} />}
        {dialog === 'rename' && <RenameDialog place={place} close={close} />}
      </Suspense>
      {dialog === 'delete' && (
        <DeleteDialog
          bucket={bucket}
          entries={[{ kind: 'object', key, size: 0, modifiedAt: new Date(0) }]}
          close={close}
          onDone={() => navigate(toFolder(bucket, folderOf(key)))}
        />
      )}
    </>
  )
}

/** A deleted object has no details, but still has versions. */
function Content({ place, tab }: { readonly place: ObjectPlace; readonly tab: 'overview' | 'preview' }) {
  const { bucket, key, versionId } = place
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['object', bucket, key, versionId],
    queryFn: () => objectDetails(bucket, key, versionId),
  })
  if (isPending) return <Skeleton height={240} aria-label={texts.loading} />
  if (error instanceof ApiFailure && error.status === 404) {
    return (
      <EmptyState icon="trash" title={t.missingTitle} text={t.missing}>
        <Button onClick={() => navigate(toObject(bucket, key, { tab: 'versions' }))}>{t.showVersions}</Button>
      </EmptyState>
    )
  }
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />
  return tab === 'preview' ? (
    <ObjectPreview place={place} details={data} />
  ) : (
    <ObjectOverview place={place} details={data} />
  )
}

export default function ObjectPage({ place, tab }: { readonly place: ObjectPlace; readonly tab: ObjectTab }) {
  const { bucket, key, versionId } = place
  const open = (name: string | null): void =>
    navigate(toObject(bucket, key, { tab: name as ObjectTab, ...(versionId === undefined ? {} : { versionId }) }))
  return (
    <div className={classes.page}>
      <PageHead title={visibleText(lastPart(key))} above={<FolderPath bucket={bucket} prefix={folderOf(key)} />}>
        <Actions place={place} />
      </PageHead>
      {versionId !== undefined && tab !== 'versions' && (
        <Alert variant="outline" icon={<Icon name="clock" />}>
          {t.oneVersion}{' '}
          <Anchor component={Link} href={toObject(bucket, key, { tab })}>
            {t.toCurrent}
          </Anchor>
        </Alert>
      )}
      <Tabs value={tab} onChange={open} keepMounted={false}>
        <Tabs.List aria-label={t.tabsLabel} mb="md">
          {(Object.keys(t.tabs) as ObjectTab[]).map(name => (
            <Tabs.Tab key={name} value={name}>
              {t.tabs[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab}>
          <Suspense fallback={<Skeleton height={240} aria-label={texts.loading} />}>
            {tab === 'versions' ? (
              <ObjectVersions place={place} />
            ) : tab === 'holds' ? (
              <ObjectHolds place={place} />
            ) : (
              <Content place={place} tab={tab} />
            )}
          </Suspense>
        </Tabs.Panel>
      </Tabs>
    </div>
  )
}

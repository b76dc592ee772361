/** Everything in a bucket that is held or retained: why, since when, by whom and until when. */
import { Button, Skeleton, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { visibleText } from '../format.ts'
import { saveAs } from '../objects/downloads.ts'
import { FolderPath } from '../pages/folder-path.tsx'
import { BucketTabs } from '../parts/bucket-tabs.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Icon } from '../parts/icons.tsx'
import { notifyError } from '../parts/notices.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { navigate, toHolds } from '../router.tsx'
import { holdsTexts } from '../texts/holds.ts'
import { texts } from '../texts/texts.ts'
import { heldPages } from './held.ts'
import { csvLine, type HeldVersion, heldCells } from './held-csv.ts'
import { HeldList } from './held-list.tsx'
import classes from './holds-page.module.css'
import { HoldDialog, LiftDialog } from './lock-dialogs.tsx'
import { NoLock } from './no-lock.tsx'
import { useHeld } from './use-held.ts'
import { useIsLockOff } from './use-is-lock-off.ts'

const ManyDialog = lazy(() => import('./many-dialog.tsx'))
const t = holdsTexts.list

interface HoldsPageProps {
  readonly bucket: string
  readonly prefix: string
}

/** The address follows what is typed, so that a filter can be shared; typing does not fill the history. */
function PrefixField({ bucket, prefix }: HoldsPageProps) {
  const [text, setText] = useState(prefix)
  useEffect(() => {
    if (text === prefix) return
    const timer = setTimeout(() => navigate(toHolds(bucket, text), { replace: true }), 250)
    return () => clearTimeout(timer)
  }, [text, prefix, bucket])
  return (
    <TextInput
      aria-label={t.prefix}
      placeholder={t.prefix}
      leftSection={<Icon name="search" />}
      value={text}
      onChange={event => setText(event.currentTarget.value)}
      className={classes.search}
    />
  )
}

function ExportButton({ bucket, prefix }: HoldsPageProps) {
  const [read, setRead] = useState(0)
  const work = useMutation({
    mutationFn: async () => {
      const lines = [csvLine(t.csvColumns)]
      for await (const versions of heldPages({ bucket, prefix })) {
        for (const version of versions) lines.push(csvLine(heldCells(version)))
        setRead(lines.length - 1)
      }
      saveAs(new Blob(lines, { type: 'text/csv' }), `${bucket}-holds.csv`)
    },
    onError: notifyError,
  })
  return (
    <Button
      variant="default"
      leftSection={<Icon name="download" />}
      disabled={work.isPending}
      onClick={() => work.mutate()}
    >
      {work.isPending ? t.exporting(read) : t.exportCsv}
    </Button>
  )
}

function Content({ bucket, prefix }: HoldsPageProps) {
  const held = useHeld(bucket, prefix)
  const [dialog, setDialog] = useState<{ readonly kind: 'release' | 'lift'; readonly version: HeldVersion }>()
  const key = held.versions[0]?.key ?? `${prefix}file`
  const { hold, retain, bypass } = usePermissions({
    hold: { action: 's3:PutObjectLegalHold', bucket, key },
    retain: { action: 's3:PutObjectRetention', bucket, key },
    bypass: { action: 's3:BypassGovernanceRetention', bucket, key },
  })
  const close = (): void => setDialog(undefined)
  if (held.error !== null) return <Problem error={held.error} retry={() => void held.refetch()} />
  if (held.isPending) return <Skeleton height={300} aria-label={texts.loading} />
  if (held.versions.length === 0 && !held.hasNextPage) {
    if (prefix !== '') return <Text role="status">{t.emptyPrefix(visibleText(prefix))}</Text>
    return <EmptyState icon="lock" title={t.emptyTitle} text={t.empty} />
  }
  const { version } = dialog ?? {}
  const place = version && { bucket, key: version.key, versionId: version.versionId }
  const retention = version?.retention && { mode: version.retention.mode, until: new Date(version.retention.until) }
  return (
    <>
      <HeldList
        {...{ bucket, held }}
        permissions={{ hold, lift: retain.isRefused ? retain : bypass }}
        release={one => setDialog({ kind: 'release', version: one })}
        lift={one => setDialog({ kind: 'lift', version: one })}
      />
      {place !== undefined && dialog?.kind === 'release' && <HoldDialog {...{ place, retention, close }} isOn />}
      {place !== undefined && dialog?.kind === 'lift' && <LiftDialog {...{ place, close }} isHeld={false} />}
    </>
  )
}

export default function HoldsPage({ bucket, prefix }: HoldsPageProps) {
  const [isHolding, setHolding] = useState(false)
  const isOff = useIsLockOff(bucket)
  const key = `${prefix}file`
  const { hold, retain } = usePermissions({
    hold: { action: 's3:PutObjectLegalHold', bucket, key },
    retain: { action: 's3:PutObjectRetention', bucket, key },
  })
  return (
    <div className={classes.page}>
      <PageHead title={t.title(bucket)} above={<FolderPath bucket={bucket} prefix="" />}>
        {!isOff && (
          <>
            <ExportButton bucket={bucket} prefix={prefix} />
            <GuardedButton
              permission={hold.isRefused ? retain : hold}
              leftSection={<Icon name="lock" />}
              onClick={() => setHolding(true)}
            >
              {t.holdPrefix}
            </GuardedButton>
          </>
        )}
      </PageHead>
      <BucketTabs bucket={bucket} />
      {isOff ? (
        <NoLock bucket={bucket} />
      ) : (
        <>
          <PrefixField bucket={bucket} prefix={prefix} />
          <Content bucket={bucket} prefix={prefix} />
        </>
      )}
      <Suspense>{isHolding && <ManyDialog {...{ bucket, prefix }} close={() => setHolding(false)} />}</Suspense>
    </div>
  )
}

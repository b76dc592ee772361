/** The settings of one bucket. */
import { Anchor, Button, Skeleton, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { BUCKETS_KEY, type Bucket, isPublic, useBucket } from '../api/use-buckets.ts'
import { timeText } from '../format.ts'
import { deleteBucket } from '../objects/buckets.ts'
import { BucketTabs } from '../parts/bucket-tabs.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { Facts } from '../parts/facts.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { notify } from '../parts/notices.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { Link, navigate, toBucketAccess, toBuckets } from '../router.tsx'
import { texts } from '../texts/texts.ts'
import { UnfinishedUploads } from '../uploads/unfinished-uploads.tsx'
import { FolderPath } from './folder-path.tsx'
import classes from './page.module.css'

const t = texts.settings

function DeleteDialog({ bucket, close }: { readonly bucket: string; readonly close: () => void }) {
  const [typed, setTyped] = useState('')
  const queries = useQueryClient()
  const deletion = useMutation({
    mutationFn: () => deleteBucket(bucket),
    onSuccess: () => {
      notify(t.deleted(bucket))
      void queries.invalidateQueries({ queryKey: BUCKETS_KEY })
      navigate(toBuckets())
    },
  })
  return (
    <Dialog title={t.deleteTitle} close={close}>
      <Stack>
        <Text>{t.deleteText}</Text>
        {deletion.error !== null && <Problem error={deletion.error} />}
        <TextInput
          label={t.deleteConfirm(bucket)}
          value={typed}
          onChange={event => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
        <Button color="red" disabled={typed !== bucket} loading={deletion.isPending} onClick={() => deletion.mutate()}>
          {t.delete}
        </Button>
      </Stack>
    </Dialog>
  )
}

function Deletion({ bucket }: { readonly bucket: string }) {
  const [isOpen, setOpen] = useState(false)
  const { remove } = usePermissions({ remove: { action: 's3:DeleteBucket', bucket } })
  return (
    <Section title={t.deleteTitle}>
      <Text>{t.deleteText}</Text>
      <GuardedButton permission={remove} color="red" onClick={() => setOpen(true)}>
        {t.delete}
      </GuardedButton>
      {isOpen && <DeleteDialog bucket={bucket} close={() => setOpen(false)} />}
    </Section>
  )
}

/** The usage is null until the bucket was counted, and absent for those who may not read it. */
function usageRows({ usage }: Bucket): [string, string][] {
  if (usage === undefined) return []
  if (usage === null) return [[t.contents, t.notCounted]]
  const { objects, bytes, versions, versionBytes, uploads, uploadBytes } = usage
  return [
    [t.contents, t.objectsIn(objects, bytes)],
    [t.allVersions, t.versionsIn(versions, versionBytes)],
    [t.unfinished, t.uploadsIn(uploads, uploadBytes)],
  ]
}

const aboutRows = (bucket: Bucket): [string, string][] => [
  ...usageRows(bucket),
  [t.owner, bucket.owner],
  [t.created, timeText(new Date(bucket.createdAt))],
]

const shown = <T,>(setting: T | undefined, text: (setting: T) => string): string =>
  setting === undefined ? t.notReadable : text(setting)

export default function BucketSettingsPage({ bucket: name }: { readonly bucket: string }) {
  const { data: bucket, error, isPending, refetch } = useBucket(name)
  return (
    <div className={classes.page}>
      <PageHead title={t.title(name)} above={<FolderPath bucket={name} prefix="" />} />
      <BucketTabs bucket={name} />
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {isPending && <Skeleton height={300} aria-label={texts.loading} />}
      {bucket === null && <EmptyState icon="bucket" title={t.noneTitle} text={t.none} />}
      {bucket && (
        <>
          <Facts title={t.about} rows={aboutRows(bucket)} />
          <Section title={t.public}>
            <Text>{shown(bucket.public, () => (isPublic(bucket) ? t.publicOn : t.publicOff))}</Text>
            <Anchor component={Link} href={toBucketAccess(name)}>
              {t.publicReview}
            </Anchor>
          </Section>
          <UnfinishedUploads bucket={name} />
          <Deletion bucket={name} />
        </>
      )}
    </div>
  )
}

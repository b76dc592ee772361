/** The unfinished uploads of a bucket, of all callers, and a way to abort them. */
import { Button, Skeleton, Text } from '@mantine/core'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { BUCKETS_KEY } from '../api/use-buckets.ts'
import { timeText, visibleText } from '../format.ts'
import { ConfirmChangeDialog } from '../parts/confirm-change-dialog.tsx'
import { DataTable } from '../parts/data-table.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { texts } from '../texts/texts.ts'
import { unfinishedTexts as t } from '../texts/unfinished-uploads.ts'
import { rememberedUploads } from './remembered-uploads.ts'
import { abortUpload, listUnfinished, type UnfinishedUpload, type UploadMarker } from './unfinished.ts'

const COLUMNS = [{ title: t.key }, { title: t.begun }, { title: t.initiator, isWide: true }, { title: t.actions }]

interface AbortDialogProps {
  readonly bucket: string
  readonly upload: UnfinishedUpload
  readonly close: () => void
}

function AbortDialog({ bucket, upload, close }: AbortDialogProps) {
  const queries = useQueryClient()
  const name = visibleText(upload.key)
  const change = useMutation({
    mutationFn: () => abortUpload(bucket, upload),
    onSuccess: () => {
      rememberedUploads.forget(upload.uploadId)
      notify(t.aborted(name))
      void queries.invalidateQueries({ queryKey: ['unfinished', bucket] })
      void queries.invalidateQueries({ queryKey: BUCKETS_KEY })
      close()
    },
  })
  return <ConfirmChangeDialog title={t.confirmTitle} text={t.confirm(name)} confirm={t.abort} {...{ change, close }} />
}

function Uploads({ bucket }: { readonly bucket: string }) {
  const [doomed, setDoomed] = useState<UnfinishedUpload>()
  const { abort } = usePermissions({ abort: { action: 's3:AbortMultipartUpload', bucket, key: 'file' } })
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey: ['unfinished', bucket],
    queryFn: ({ pageParam, signal }) => listUnfinished(bucket, pageParam, signal),
    initialPageParam: undefined as UploadMarker | undefined,
    getNextPageParam: page => page.next,
  })
  if (isPending) return <Skeleton height={60} aria-label={texts.loading} />
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />
  const uploads = data.pages.flatMap(page => page.uploads)
  const rows = uploads.map(upload => ({
    id: upload.uploadId,
    cells: [
      visibleText(upload.key),
      timeText(upload.begunAt),
      visibleText(upload.initiator),
      <GuardedButton
        key="abort"
        permission={abort}
        size="xs"
        variant="default"
        aria-label={t.abortOf(visibleText(upload.key))}
        onClick={() => setDoomed(upload)}
      >
        {t.abort}
      </GuardedButton>,
    ],
  }))
  return (
    <>
      {rows.length === 0 ? <Text>{t.none}</Text> : <DataTable label={t.title} columns={COLUMNS} rows={rows} />}
      {hasNextPage && (
        <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t.more}
        </Button>
      )}
      {doomed !== undefined && <AbortDialog bucket={bucket} upload={doomed} close={() => setDoomed(undefined)} />}
    </>
  )
}

export function UnfinishedUploads({ bucket }: { readonly bucket: string }) {
  const { list } = usePermissions({ list: { action: 's3:ListBucketMultipartUploads', bucket } })
  return (
    <Section title={t.title}>
      <Text>{t.text}</Text>
      {list.isRefused ? <Text c="dimmed">{list.reason ?? t.notReadable}</Text> : <Uploads bucket={bucket} />}
    </Section>
  )
}

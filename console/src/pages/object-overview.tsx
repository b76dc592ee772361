/** Properties, user metadata and tags of an object. */
import { Button, Stack } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, lazy, Suspense, useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { exactTimeText } from '../format.ts'
import { type ObjectDetails, readTags, type Tags, writeTags } from '../objects/details.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Facts } from '../parts/facts.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { TagRows } from '../rules/tag-rows.tsx'
import { texts } from '../texts/texts.ts'
import classes from './object-overview.module.css'

const ObjectAccess = lazy(() => import('../access/object-access.tsx'))
const DescribeDialog = lazy(() => import('../copies/describe-dialog.tsx'))
const t = texts.object

/** A row without a name and a value is one that was not filled in. */
const filledIn = (tags: Tags): Tags => tags.filter(pair => pair.some(text => text.trim() !== ''))

function TagsDialog({ place, tags, close }: { place: ObjectPlace; tags: Tags; close: () => void }) {
  const [edited, setEdited] = useState<Tags>(tags.length === 0 ? [['', '']] : tags)
  const queries = useQueryClient()
  const saving = useMutation({
    mutationFn: () => writeTags(place.bucket, place.key, filledIn(edited)),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['tags', place.bucket, place.key] })
      notify(t.tagsSaved)
      close()
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    saving.mutate()
  }
  return (
    <Dialog title={t.editTags} close={close}>
      <form onSubmit={submit}>
        <Stack>
          {saving.error !== null && <Problem error={saving.error} />}
          <TagRows label={t.tagsHint} tags={edited} change={setEdited} isDisabled={saving.isPending} />
          <Button type="submit" loading={saving.isPending}>
            {t.saveTags}
          </Button>
        </Stack>
      </form>
    </Dialog>
  )
}

function TagsSection({ place }: { readonly place: ObjectPlace }) {
  const { bucket, key, versionId } = place
  const [isOpen, setOpen] = useState(false)
  const { write } = usePermissions({ write: { action: 's3:PutObjectTagging', bucket, key } })
  const { data, error } = useQuery({
    queryKey: ['tags', bucket, key, versionId],
    queryFn: () => readTags(bucket, key, versionId),
  })
  if (error !== null) return <Problem error={error} />
  return (
    <Stack gap="xs" align="flex-start">
      <div className={classes.whole}>
        <Facts title={t.tags} rows={data ?? []} none={t.noTags} />
      </div>
      {data !== undefined && versionId === undefined && (
        <GuardedButton permission={write} variant="default" onClick={() => setOpen(true)}>
          {t.editTags}
        </GuardedButton>
      )}
      {isOpen && data !== undefined && <TagsDialog place={place} tags={data} close={() => setOpen(false)} />}
    </Stack>
  )
}

function rowsOf(details: ObjectDetails): (readonly [string, string])[] {
  const { size, contentType, modifiedAt, etag, versionId, encryption, hold, retention } = details
  return [
    [t.size, t.exactSize(size)],
    [t.type, contentType],
    [t.modified, exactTimeText(modifiedAt)],
    [t.etag, etag.replaceAll('"', '')],
    ...(versionId === undefined ? [] : [[t.version, versionId] as const]),
    ...(encryption === undefined ? [] : [[t.encryption, encryption] as const]),
    [t.hold, hold ? t.holdOn : t.none],
    [t.retention, retention === undefined ? t.none : t.retained(retention.mode, exactTimeText(retention.until))],
    ...details.headers,
  ]
}

/** An older version is changed by making it current first. */
function MetadataSection({ place, details }: { readonly place: ObjectPlace; readonly details: ObjectDetails }) {
  const { bucket, key, versionId } = place
  const [isOpen, setOpen] = useState(false)
  const { write } = usePermissions({ write: { action: 's3:PutObject', bucket, key } })
  return (
    <Stack gap="xs" align="flex-start">
      <div className={classes.whole}>
        <Facts title={t.metadata} rows={details.metadata} none={t.noMetadata} />
      </div>
      {versionId === undefined && (
        <GuardedButton permission={write} variant="default" onClick={() => setOpen(true)}>
          {t.editMetadata}
        </GuardedButton>
      )}
      <Suspense>{isOpen && <DescribeDialog {...{ place, details }} close={() => setOpen(false)} />}</Suspense>
    </Stack>
  )
}

export function ObjectOverview({ place, details }: { readonly place: ObjectPlace; readonly details: ObjectDetails }) {
  return (
    <Stack>
      <Facts title={t.properties} rows={rowsOf(details)} />
      <MetadataSection place={place} details={details} />
      <TagsSection place={place} />
      <Suspense>
        <ObjectAccess place={place} />
      </Suspense>
    </Stack>
  )
}

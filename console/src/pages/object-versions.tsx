/** The versions of a key as a timeline, newest first. */
import { Button, Skeleton, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { exactTimeText } from '../format.ts'
import { deleteVersion } from '../objects/changes.ts'
import type { Version } from '../objects/listing.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { Dialog } from '../parts/dialog.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { texts } from '../texts/texts.ts'
import classes from './object-versions.module.css'
import { useVersions } from './use-versions.ts'
import { VersionList } from './version-list.tsx'
import { type VersionAct, VersionRow } from './version-row.tsx'

const MakeCurrentDialog = lazy(() => import('./make-current-dialog.tsx'))
const VersionDifference = lazy(() => import('./version-difference.tsx'))
const t = texts.versions

/** A deleted object is restored by removing its marker. */
type Removal = Exclude<VersionAct, 'current'>

function useRemovals(bucket: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ act, version: { key, versionId } }: { act: Removal; version: Version }): Promise<string> => {
      await deleteVersion(bucket, { key, versionId })
      return { restore: t.restored, delete: t.deleted }[act]
    },
    onSuccess: async text => {
      for (const name of ['versions', 'object', 'listing', 'tags']) {
        await queries.invalidateQueries({ queryKey: [name, bucket] })
      }
      notify(text)
    },
  })
}

function DeleteVersionDialog({ version, close, run }: { version: Version; close: () => void; run: () => void }) {
  return (
    <Dialog title={t.deleteTitle} close={close}>
      <Stack>
        <Text>{t.deleteText(exactTimeText(version.modifiedAt))}</Text>
        <Button variant="default" onClick={close} data-autofocus>
          {texts.cancel}
        </Button>
        <Button color="red" onClick={run}>
          {t.deleteForGood}
        </Button>
      </Stack>
    </Dialog>
  )
}

interface AskedProps {
  readonly bucket: string
  readonly asked: { readonly act: Exclude<VersionAct, 'restore'>; readonly version: Version }
  readonly isDeleted: boolean
  readonly close: () => void
  readonly remove: () => void
}

function AskedDialog({ bucket, asked: { act, version }, isDeleted, close, remove }: AskedProps) {
  if (act === 'current') return <MakeCurrentDialog {...{ bucket, version, isDeleted, close }} />
  const run = (): void => {
    close()
    remove()
  }
  return <DeleteVersionDialog {...{ version, close, run }} />
}

export default function ObjectVersions({ place: { bucket, key } }: { readonly place: ObjectPlace }) {
  const listing = useVersions(bucket, key)
  const { versions, error, isPending, refetch } = listing
  const [picked, setPicked] = useState<readonly string[]>([])
  const [asked, setAsked] = useState<AskedProps['asked']>()
  const [isComparing, setComparing] = useState(false)
  const removals = useRemovals(bucket)
  const permissions = usePermissions({
    read: { action: 's3:GetObjectVersion', bucket, key },
    write: { action: 's3:PutObject', bucket, key },
    remove: { action: 's3:DeleteObjectVersion', bucket, key },
  })
  if (error !== null && versions.length === 0) return <Problem error={error} retry={() => void refetch()} />
  if (isPending) return <Skeleton height={240} aria-label={texts.loading} />
  if (versions.length === 0) return <EmptyState icon="clock" title={t.emptyTitle} text={t.empty} />
  const isPicked = ({ versionId }: Version): boolean => picked.includes(versionId)
  // The third choice replaces the older of the first two.
  const pick = ({ versionId }: Version): void =>
    setPicked(picked.includes(versionId) ? picked.filter(id => id !== versionId) : [...picked.slice(-1), versionId])
  const begin = (act: VersionAct, version: Version): void =>
    act === 'restore' ? removals.mutate({ act, version }) : setAsked({ act, version })
  const running = removals.isPending ? removals.variables : undefined
  const [newer, older] = picked.length < 2 ? [] : [...versions].filter(isPicked)
  return (
    <Stack>
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {removals.error !== null && <Problem error={removals.error} />}
      <div className={classes.compare}>
        <Text size="sm">{t.pickTwo}</Text>
        <Button size="xs" variant="default" disabled={older === undefined} onClick={() => setComparing(true)}>
          {t.compareSelected}
        </Button>
      </div>
      <VersionList
        listing={listing}
        row={version => (
          <VersionRow
            {...{ bucket, version, permissions }}
            isPicked={isPicked(version)}
            pick={() => pick(version)}
            act={act => begin(act, version)}
            running={running?.version.versionId === version.versionId ? running.act : undefined}
          />
        )}
      />
      <Suspense>
        {isComparing && newer !== undefined && older !== undefined && (
          <VersionDifference {...{ bucket, newer, older }} close={() => setComparing(false)} />
        )}
        {asked !== undefined && (
          <AskedDialog
            {...{ bucket, asked }}
            isDeleted={versions.at(0)!.isMarker}
            close={() => setAsked(undefined)}
            remove={() => removals.mutate({ act: 'delete', version: asked.version })}
          />
        )}
      </Suspense>
    </Stack>
  )
}

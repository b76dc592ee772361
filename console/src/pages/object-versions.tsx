/** The versions of a key as a timeline, newest first. */
import { Button, Skeleton, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { copyObject } from '../copies/copy-object.ts'
import { exactTimeText } from '../format.ts'
import { deleteVersion } from '../objects/changes.ts'
import { objectDetails } from '../objects/details.ts'
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

const VersionDifference = lazy(() => import('./version-difference.tsx'))
const t = texts.versions

function useVersionActs(bucket: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ act, version }: { act: VersionAct; version: Version }): Promise<string> => {
      const { key, versionId } = version
      if (act === 'current') {
        const source = await objectDetails(bucket, key, versionId)
        await copyObject({ from: { bucket, key, versionId }, to: { bucket, key }, source })
      } else await deleteVersion(bucket, { key, versionId })
      return { current: t.madeCurrent, restore: t.restored, delete: t.deleted }[act]
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

export default function ObjectVersions({ place: { bucket, key } }: { readonly place: ObjectPlace }) {
  const listing = useVersions(bucket, key)
  const { versions, error, isPending, refetch } = listing
  const [picked, setPicked] = useState<readonly string[]>([])
  const [doomed, setDoomed] = useState<Version>()
  const [isComparing, setComparing] = useState(false)
  const acts = useVersionActs(bucket)
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
  const act = (what: VersionAct, version: Version): void =>
    what === 'delete' ? setDoomed(version) : acts.mutate({ act: what, version })
  const running = acts.isPending ? acts.variables : undefined
  const [newer, older] = picked.length < 2 ? [] : [...versions].filter(isPicked)
  return (
    <Stack>
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {acts.error !== null && <Problem error={acts.error} />}
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
            act={what => act(what, version)}
            running={running?.version.versionId === version.versionId ? running.act : undefined}
          />
        )}
      />
      <Suspense>
        {isComparing && newer !== undefined && older !== undefined && (
          <VersionDifference {...{ bucket, newer, older }} close={() => setComparing(false)} />
        )}
      </Suspense>
      {doomed !== undefined && (
        <DeleteVersionDialog
          version={doomed}
          close={() => setDoomed(undefined)}
          run={() => {
            setDoomed(undefined)
            acts.mutate({ act: 'delete', version: doomed })
          }}
        />
      )}
    </Stack>
  )
}

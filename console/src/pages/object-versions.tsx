/** The versions of a key as a timeline, newest first. */
import { Badge, Button, Checkbox, Skeleton, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { type Permission, usePermissions } from '../api/permissions.ts'
import { copyObject } from '../copies/copy-object.ts'
import { bytesText, exactTimeText } from '../format.ts'
import { deleteVersion } from '../objects/changes.ts'
import { objectDetails } from '../objects/details.ts'
import { download } from '../objects/downloads.ts'
import { type Version, versionsOfKey } from '../objects/listing.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { Dialog } from '../parts/dialog.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { notify, notifyError } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { Link, toObject } from '../router.tsx'
import { texts } from '../texts/texts.ts'
import classes from './object-versions.module.css'

const VersionDifference = lazy(() => import('./version-difference.tsx'))
const t = texts.versions

type VersionAct = 'current' | 'restore' | 'delete'

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

interface RowProps {
  readonly bucket: string
  readonly version: Version
  readonly isPicked: boolean
  readonly pick: () => void
  readonly act: (act: VersionAct) => void
  /** The act that is running on this version. */
  readonly running: VersionAct | undefined
  readonly permissions: Readonly<Record<'read' | 'write' | 'remove', Permission>>
}

function RowActions({ bucket, version, act, running, permissions: { read, write, remove } }: RowProps) {
  const { key, versionId, isLatest, isMarker } = version
  const fetchIt = (): void => {
    download({ bucket, key, versionId }).catch(notifyError)
  }
  return (
    <div className={classes.actions}>
      {isMarker && isLatest && (
        <GuardedButton permission={remove} size="xs" loading={running === 'restore'} onClick={() => act('restore')}>
          {t.restore}
        </GuardedButton>
      )}
      {!isMarker && (
        <>
          <Button
            component={Link}
            size="xs"
            variant="default"
            href={toObject(bucket, key, { tab: 'preview', versionId })}
          >
            {t.view}
          </Button>
          <GuardedButton permission={read} size="xs" variant="default" onClick={fetchIt}>
            {t.download}
          </GuardedButton>
          {!isLatest && (
            <GuardedButton
              permission={write}
              size="xs"
              variant="default"
              loading={running === 'current'}
              onClick={() => act('current')}
            >
              {t.makeCurrent}
            </GuardedButton>
          )}
        </>
      )}
      {!(isMarker && isLatest) && (
        <GuardedButton
          permission={remove}
          size="xs"
          color="red"
          variant="outline"
          loading={running === 'delete'}
          onClick={() => act('delete')}
        >
          {t.deleteForGood}
        </GuardedButton>
      )}
    </div>
  )
}

function Row(props: RowProps) {
  const { version, isPicked, pick } = props
  const { versionId, isLatest, isMarker, size, modifiedAt, owner } = version
  const time = exactTimeText(modifiedAt)
  return (
    <li className={classes.row} data-latest={isLatest}>
      <div className={classes.what}>
        <Checkbox aria-label={t.pick(time)} checked={isPicked} disabled={isMarker} onChange={pick} />
        <div className={classes.text}>
          <Text fw={600}>
            {time} {isLatest && !isMarker && <Badge variant="outline">{t.current}</Badge>}
            {isMarker && (
              <Badge variant="outline" color="red">
                {t.marker}
              </Badge>
            )}
          </Text>
          <Text size="sm" c="dimmed">
            {isMarker ? '' : `${bytesText(size)} `}
            {owner !== undefined && t.by(owner)}
          </Text>
          <Text size="xs" c="dimmed" ff="monospace" className={classes.id}>
            {versionId === 'null' ? t.null : versionId}
          </Text>
        </div>
      </div>
      <RowActions {...props} />
    </li>
  )
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
  const {
    data: versions,
    error,
    refetch,
  } = useQuery({
    queryKey: ['versions', bucket, key],
    queryFn: ({ signal }) => versionsOfKey(bucket, key, signal),
  })
  const [picked, setPicked] = useState<readonly string[]>([])
  const [doomed, setDoomed] = useState<Version>()
  const [isComparing, setComparing] = useState(false)
  const acts = useVersionActs(bucket)
  const permissions = usePermissions({
    read: { action: 's3:GetObjectVersion', bucket, key },
    write: { action: 's3:PutObject', bucket, key },
    remove: { action: 's3:DeleteObjectVersion', bucket, key },
  })
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />
  if (versions === undefined) return <Skeleton height={240} aria-label={texts.loading} />
  if (versions.length === 0) return <EmptyState icon="clock" title={t.emptyTitle} text={t.empty} />
  // The third choice replaces the older of the first two.
  const pick = ({ versionId }: Version): void =>
    setPicked(picked.includes(versionId) ? picked.filter(id => id !== versionId) : [...picked.slice(-1), versionId])
  const act = (what: VersionAct, version: Version): void =>
    what === 'delete' ? setDoomed(version) : acts.mutate({ act: what, version })
  const running = acts.isPending ? acts.variables : undefined
  const [newer, older] = versions.filter(({ versionId }) => picked.includes(versionId))
  return (
    <Stack>
      {acts.error !== null && <Problem error={acts.error} />}
      <div className={classes.compare}>
        <Text size="sm">{t.pickTwo}</Text>
        <Button size="xs" variant="default" disabled={older === undefined} onClick={() => setComparing(true)}>
          {t.compareSelected}
        </Button>
      </div>
      <ol className={classes.list} aria-label={t.listLabel}>
        {versions.map(version => (
          <Row
            key={version.versionId}
            {...{ bucket, version, permissions }}
            isPicked={picked.includes(version.versionId)}
            pick={() => pick(version)}
            act={what => act(what, version)}
            running={running?.version.versionId === version.versionId ? running.act : undefined}
          />
        ))}
      </ol>
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

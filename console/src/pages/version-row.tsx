/** One version in the timeline of a key. */
import { Badge, Button, Checkbox, Text } from '@mantine/core'
import type { Permission } from '../api/permissions.ts'
import { bytesText, exactTimeText } from '../format.ts'
import { download } from '../objects/downloads.ts'
import type { Version } from '../objects/listing.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { notifyError } from '../parts/notices.tsx'
import { Link, toObject } from '../router.tsx'
import { texts } from '../texts/texts.ts'
import classes from './object-versions.module.css'

const t = texts.versions

export type VersionAct = 'current' | 'restore' | 'delete'

interface VersionRowProps {
  readonly bucket: string
  readonly version: Version
  readonly isPicked: boolean
  readonly pick: () => void
  readonly act: (act: VersionAct) => void
  /** The act that is running on this version. */
  readonly running: VersionAct | undefined
  readonly permissions: Readonly<Record<'read' | 'write' | 'remove', Permission>>
}

function RowActions({ bucket, version, act, running, permissions: { read, write, remove } }: VersionRowProps) {
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
            <GuardedButton permission={write} size="xs" variant="default" onClick={() => act('current')}>
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

/** The content of a list item, which its list places. */
export function VersionRow(props: VersionRowProps) {
  const { version, isPicked, pick } = props
  const { versionId, isLatest, isMarker, size, modifiedAt, owner } = version
  const time = exactTimeText(modifiedAt)
  return (
    <>
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
    </>
  )
}

/** Held and retained versions of a bucket, however many. */
import { Badge, Group, Loader, Text, VisuallyHidden } from '@mantine/core'
import { useCallback } from 'react'
import type { Permission } from '../api/permissions.ts'
import { useSession } from '../api/session.tsx'
import { bytesText, exactTimeText, timeText, visibleText } from '../format.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { MeasuredRows, useMeasuredRows } from '../parts/measured-rows.tsx'
import { rowAttributes, VirtualTable } from '../parts/virtual-table.tsx'
import { Link, toLedger, toObject } from '../router.tsx'
import { holdsTexts } from '../texts/holds.ts'
import { actorName, type HeldVersion } from './held-csv.ts'
import classes from './held-list.module.css'
import type { HeldListing } from './use-held.ts'

const t = holdsTexts.list
const ROW_PIXELS = 64

type Since = NonNullable<HeldVersion['heldSince']>

interface RowPermissions {
  readonly hold: Permission
  readonly lift: Permission
}

interface RowProps {
  readonly bucket: string
  readonly version: HeldVersion
  readonly permissions: RowPermissions
  readonly release: (version: HeldVersion) => void
  readonly lift: (version: HeldVersion) => void
}

function Why({ version: { hold, retention } }: Pick<RowProps, 'version'>) {
  const mode = retention && holdsTexts.retention.modes[retention.mode]
  return (
    <Group gap={6}>
      {hold && <Badge variant="filled">{t.hold}</Badge>}
      {retention !== undefined && mode !== undefined && (
        <Badge variant="outline" {...(retention.inForce ? {} : { color: 'gray' })}>
          {retention.inForce ? mode : t.retentionEnded(mode)}
        </Badge>
      )}
    </Group>
  )
}

/** An administrator can read the entry of the ledger. */
function Origin({ bucket, since }: { readonly bucket: string; readonly since: Since | undefined }) {
  const { administrator } = useSession()
  if (since === undefined) return <Text size="sm">{t.sinceWritten}</Text>
  const time = timeText(new Date(since.time))
  return (
    <>
      <Text size="sm">
        {administrator ? <Link href={toLedger(bucket, { entry: since.sequence })}>{time}</Link> : time}
      </Text>
      <Text size="xs" c="dimmed" truncate title={visibleText(since.by.accessKey ?? '')}>
        {t.by(visibleText(actorName(since.by)))}
      </Text>
    </>
  )
}

/** A hold has no end of its own, and a retention may go on after it. The time zone decides on which day that ends. */
function untilText({ hold, retention }: HeldVersion): string {
  const end = retention === undefined ? '' : exactTimeText(new Date(retention.until))
  if (!hold) return end === '' ? '' : t.untilTime(end)
  return retention?.inForce ? t.releasedAndAfter(end) : t.withoutEnd
}

function Row({ bucket, version, permissions, release, lift }: RowProps) {
  const { key, versionId, latest, size, hold, retention } = version
  const isLiftable = !hold && retention?.mode === 'governance' && retention.inForce
  return (
    <>
      <span role="cell" className={classes.key}>
        <Link href={toObject(bucket, key, { tab: 'holds', versionId })} title={visibleText(key)}>
          {visibleText(key)}
        </Link>
        <Text size="xs" c="dimmed">
          {bytesText(size)}
          {!latest && `, ${t.olderVersion}`}
        </Text>
      </span>
      <span role="cell" className={classes.why}>
        <Why version={version} />
      </span>
      <span role="cell" className={classes.since}>
        <Origin bucket={bucket} since={version.heldSince ?? version.retainedSince} />
      </span>
      <span role="cell" className={classes.until}>
        {untilText(version)}
      </span>
      <span role="cell" className={classes.act}>
        {hold && (
          <GuardedButton
            permission={permissions.hold}
            size="xs"
            variant="default"
            aria-label={t.releaseOf(visibleText(key))}
            onClick={() => release(version)}
          >
            {t.release}
          </GuardedButton>
        )}
        {isLiftable && (
          <GuardedButton
            permission={permissions.lift}
            size="xs"
            variant="default"
            aria-label={t.liftOf(visibleText(key))}
            onClick={() => lift(version)}
          >
            {t.lift}
          </GuardedButton>
        )}
      </span>
    </>
  )
}

type HeldListProps = Omit<RowProps, 'version'> & { readonly held: HeldListing }

const Head = () => (
  <>
    <span role="columnheader">{t.key}</span>
    <span role="columnheader">{t.why}</span>
    <span role="columnheader" className={classes.since}>
      {t.since}
    </span>
    <span role="columnheader" className={classes.until}>
      {t.until}
    </span>
    <span role="columnheader" className={classes.act}>
      <VisuallyHidden>{t.actions}</VisuallyHidden>
    </span>
  </>
)

export function HeldList({ held, ...row }: HeldListProps) {
  const { versions } = held
  const keyOf = useCallback(
    (index: number): string => `${versions[index]!.key}\n${versions[index]!.versionId}`,
    [versions],
  )
  const rows = useMeasuredRows({ count: versions.length, rowPixels: ROW_PIXELS, keyOf, pages: held })
  const foot = (
    <>
      <Text size="sm" c="dimmed" role="status">
        {t.loaded(versions.length, !held.hasNextPage)}
      </Text>
      {held.isFetchingNextPage && <Loader size="xs" aria-label={t.searching} />}
    </>
  )
  return (
    <VirtualTable label={t.label(row.bucket)} columns={classes.columns} head={<Head />} foot={foot}>
      <MeasuredRows
        {...rows}
        row={({ index, start, key }) => (
          <div
            key={key}
            role="row"
            ref={rows.virtual.measureElement}
            data-index={index}
            {...rowAttributes(index, start, classes.columns)}
          >
            <Row {...row} version={versions[index]!} />
          </div>
        )}
      />
    </VirtualTable>
  )
}

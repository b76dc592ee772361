/** Held and retained versions of a bucket, however many: only the rows in view exist. */
import { Badge, Group, Loader, Text, VisuallyHidden } from '@mantine/core'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import type { Permission } from '../api/permissions.ts'
import { useSession } from '../api/session.tsx'
import { bytesText, timeText, visibleText } from '../format.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Link, toLedger, toObject } from '../router.tsx'
import { holdsTexts } from '../texts/holds.ts'
import { actorName, type HeldVersion } from './held-csv.ts'
import classes from './held-list.module.css'
import type { HeldListing } from './use-held.ts'

const t = holdsTexts.list
const ROW_PIXELS = 64

type Since = NonNullable<HeldVersion['heldSince']>

export interface RowPermissions {
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

/** A hold has no end; it outlasts every retention. */
const untilText = ({ hold, retention }: HeldVersion): string =>
  hold ? t.withoutEnd : retention === undefined ? '' : timeText(new Date(retention.until))

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

/** Reads on when the last rows come into view, and while pages are empty. */
function useReadOn({ hasNextPage, isFetchingNextPage, fetchNextPage }: HeldListing, isNearEnd: boolean): void {
  useEffect(() => {
    if (isNearEnd && hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [isNearEnd, hasNextPage, isFetchingNextPage, fetchNextPage])
}

export function HeldList({ held, ...row }: HeldListProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const { versions } = held
  const virtual = useVirtualizer({
    count: versions.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PIXELS,
    getItemKey: index => `${versions[index]!.key}\n${versions[index]!.versionId}`,
    overscan: 8,
  })
  const items = virtual.getVirtualItems()
  useReadOn(held, (items.at(-1)?.index ?? -1) >= versions.length - 50)
  return (
    <div className={classes.list}>
      <div className={classes.table} role="table" aria-label={t.label(row.bucket)} aria-rowcount={-1}>
        <div role="rowgroup">
          <div role="row" aria-rowindex={1} className={classes.head}>
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
          </div>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard. */}
        <div ref={scroller} className={classes.scroller} role="rowgroup" tabIndex={0}>
          <div role="presentation" className={classes.canvas} style={{ height: virtual.getTotalSize() }}>
            {items.map(({ index, start, key }) => (
              <div
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                role="row"
                aria-rowindex={index + 2}
                className={classes.row}
                style={{ transform: `translateY(${start}px)` }}
              >
                <Row {...row} version={versions[index]!} />
              </div>
            ))}
          </div>
        </div>
      </div>
      <div className={classes.foot}>
        <Text size="sm" c="dimmed" role="status">
          {t.loaded(versions.length, !held.hasNextPage)}
        </Text>
        {held.isFetchingNextPage && <Loader size="xs" aria-label={t.searching} />}
      </div>
    </div>
  )
}

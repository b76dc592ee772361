/** A timeline of any length: only the versions in view exist. */
import { Loader, Text } from '@mantine/core'
import { type ReactNode, useCallback } from 'react'
import type { Version } from '../objects/listing.ts'
import { useMeasuredRows } from '../parts/measured-rows.tsx'
import { texts } from '../texts/texts.ts'
import classes from './object-versions.module.css'
import type { Versions } from './use-versions.ts'

const ROW_PIXELS = 92
const t = texts.versions

interface VersionListProps {
  readonly listing: Versions
  readonly row: (version: Version) => ReactNode
}

export function VersionList({ listing, row }: VersionListProps) {
  const { versions, hasNextPage, isFetchingNextPage } = listing
  const keyOf = useCallback((index: number): string => versions.at(index)!.versionId, [versions])
  const { scroller, virtual } = useMeasuredRows({
    count: versions.length,
    rowPixels: ROW_PIXELS,
    keyOf,
    pages: listing,
  })
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard. */}
      <div ref={scroller} className={classes.scroller} tabIndex={0} role="group" aria-label={t.scrollLabel}>
        <ol className={classes.list} aria-label={t.listLabel} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start, key }) => {
            const version = versions.at(index)!
            return (
              <li
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                aria-posinset={index + 1}
                aria-setsize={hasNextPage ? -1 : versions.length}
                className={classes.row}
                data-latest={version.isLatest}
                style={{ transform: `translateY(${start}px)` }}
              >
                {row(version)}
              </li>
            )
          })}
        </ol>
      </div>
      <div className={classes.compare}>
        <Text size="sm" c="dimmed" role="status">
          {t.loaded(versions.length, !hasNextPage)}
        </Text>
        {isFetchingNextPage && <Loader size="xs" aria-label={t.loadingMore} />}
      </div>
    </>
  )
}

/** A list of any length: only the rows in view exist, and pages are read as one scrolls. */
import { Checkbox, Loader, Skeleton, Text, UnstyledButton } from '@mantine/core'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { visibleText } from '../format.ts'
import type { Entry } from '../objects/listing.ts'
import { EmptyState } from '../parts/empty-state.tsx'
import { Icon } from '../parts/icons.tsx'
import { texts } from '../texts/texts.ts'
import classes from './object-list.module.css'
import { ObjectRow } from './object-row.tsx'
import { type SortOrder, sorted } from './sort-order.ts'
import type { Listing } from './use-listing.ts'

const ROW_PIXELS = 44
const t = texts.objects

interface ObjectListProps {
  readonly bucket: string
  readonly search: string
  readonly isDeleted: boolean
  readonly listing: Listing
  readonly chosen: ReadonlyMap<string, Entry>
  readonly setChosen: (chosen: ReadonlyMap<string, Entry>) => void
}

interface HeadProps {
  readonly order: SortOrder
  readonly setOrder: (order: SortOrder) => void
  readonly all: boolean
  readonly some: boolean
  readonly toggleAll: () => void
  readonly isDeleted: boolean
}

function Head({ order, setOrder, all, some, toggleAll, isDeleted }: HeadProps) {
  const columns = [
    ['name', t.name, classes.name],
    ['size', t.size, classes.size],
    ['time', isDeleted ? t.deletedAt : t.modified, classes.time],
  ] as const
  const sortOf = (column: string) => (order.by !== column ? 'none' : order.isDown ? 'descending' : 'ascending')
  return (
    <div role="row" aria-rowindex={1} className={classes.head}>
      <span role="columnheader" className={classes.check}>
        <Checkbox aria-label={t.selectAll} checked={all} indeterminate={some && !all} onChange={toggleAll} />
      </span>
      {columns.map(([column, label, className]) => (
        <span key={column} role="columnheader" aria-sort={sortOf(column)} className={className}>
          <UnstyledButton
            className={classes.sort}
            onClick={() => setOrder({ by: column, isDown: order.by === column && !order.isDown })}
          >
            {label}
            {order.by === column && <Icon name={order.isDown ? 'down' : 'up'} size={14} />}
          </UnstyledButton>
        </span>
      ))}
    </div>
  )
}

function Nothing({ search, isDeleted }: { readonly search: string; readonly isDeleted: boolean }) {
  if (search !== '') return <Text role="status">{t.emptySearch(visibleText(search))}</Text>
  if (isDeleted) return <EmptyState icon="trash" title={t.emptyDeletedTitle} text={t.emptyDeleted} />
  return <EmptyState icon="upload" title={t.emptyTitle} text={t.empty} />
}

/** Reads the next page when the last rows come into view. */
function useReadAhead({ hasNextPage, isFetchingNextPage, fetchNextPage }: Listing, isNearEnd: boolean): void {
  useEffect(() => {
    if (isNearEnd && hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [isNearEnd, hasNextPage, isFetchingNextPage, fetchNextPage])
}

function toggled(chosen: ReadonlyMap<string, Entry>, entry: Entry): ReadonlyMap<string, Entry> {
  const changed = new Map(chosen)
  if (!changed.delete(entry.key)) changed.set(entry.key, entry)
  return changed
}

export function ObjectList({ bucket, search, isDeleted, listing, chosen, setChosen }: ObjectListProps) {
  const [order, setOrder] = useState<SortOrder>({ by: 'name', isDown: false })
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useMemo(() => sorted(listing.entries, order), [listing.entries, order])
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PIXELS,
    overscan: 8,
  })
  const items = virtual.getVirtualItems()
  const toggle = useCallback((entry: Entry) => setChosen(toggled(chosen, entry)), [chosen, setChosen])
  useReadAhead(listing, (items.at(-1)?.index ?? -1) >= rows.length - 50)
  if (listing.isPending) return <Skeleton height={300} aria-label={texts.loading} />
  // A page of versions may have nothing deleted in it; there is nothing only after the last one.
  if (rows.length === 0 && !listing.hasNextPage) {
    return listing.error === null ? <Nothing search={search} isDeleted={isDeleted} /> : null
  }
  const all = rows.length > 0 && rows.every(({ key }) => chosen.has(key))
  const toggleAll = (): void => setChosen(all ? new Map() : new Map(rows.map(entry => [entry.key, entry])))
  return (
    <div className={classes.list}>
      <div className={classes.table} role="table" aria-label={t.listLabel(bucket)} aria-rowcount={-1}>
        <div role="rowgroup">
          <Head {...{ order, setOrder, all, toggleAll, isDeleted }} some={chosen.size > 0} />
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard. */}
        <div ref={scroller} className={classes.scroller} role="rowgroup" tabIndex={0}>
          <div role="presentation" className={classes.canvas} style={{ height: virtual.getTotalSize() }}>
            {items.map(({ index, start }) => {
              const entry = rows[index]!
              const isChosen = chosen.has(entry.key)
              return <ObjectRow key={entry.key} {...{ bucket, entry, isDeleted, index, start, isChosen, toggle }} />
            })}
          </div>
        </div>
      </div>
      <Footer listing={listing} isSorted={order.by !== 'name'} />
    </div>
  )
}

function Footer({ listing, isSorted }: { readonly listing: Listing; readonly isSorted: boolean }) {
  const { entries, hasNextPage, isFetchingNextPage } = listing
  return (
    <div className={classes.foot}>
      <Text size="sm" c="dimmed" role="status">
        {t.loaded(entries.length, !hasNextPage)}
        {isSorted && hasNextPage && `. ${t.sortHint}`}
      </Text>
      {isFetchingNextPage && <Loader size="xs" aria-label={t.loadingMore} />}
    </div>
  )
}

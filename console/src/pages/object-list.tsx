/** The objects of a folder, however many. Pages are read as one scrolls. */
import { Checkbox, Loader, Skeleton, Text, UnstyledButton } from '@mantine/core'
import { useCallback, useMemo, useState } from 'react'
import { visibleText } from '../format.ts'
import type { Entry } from '../objects/listing.ts'
import type { Rows } from '../objects/paged-list.ts'
import { EmptyState } from '../parts/empty-state.tsx'
import { FixedRows } from '../parts/fixed-rows.tsx'
import { Icon } from '../parts/icons.tsx'
import { Problem } from '../parts/problem.tsx'
import { VirtualTable } from '../parts/virtual-table.tsx'
import { texts } from '../texts/texts.ts'
import classes from './object-list.module.css'
import { ObjectRow } from './object-row.tsx'
import { type SortOrder, sorted } from './sort-order.ts'
import { type Listing, useListing } from './use-listing.ts'

const ROW_PIXELS = 44
const t = texts.objects

interface ObjectListProps {
  readonly bucket: string
  readonly prefix: string
  readonly search: string
  readonly isDeleted: boolean
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
    <>
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
    </>
  )
}

function Nothing({ search, isDeleted }: { readonly search: string; readonly isDeleted: boolean }) {
  if (search !== '') return <Text role="status">{t.emptySearch(visibleText(search))}</Text>
  if (isDeleted) return <EmptyState icon="trash" title={t.emptyDeletedTitle} text={t.emptyDeleted} />
  return <EmptyState icon="upload" title={t.emptyTitle} text={t.empty} />
}

function toggled(chosen: ReadonlyMap<string, Entry>, entry: Entry): ReadonlyMap<string, Entry> {
  const changed = new Map(chosen)
  if (!changed.delete(entry.key)) changed.set(entry.key, entry)
  return changed
}

const isEvery = (rows: Rows<Entry>, chosen: ReadonlyMap<string, Entry>): boolean => {
  if (rows.length === 0 || chosen.size < rows.length) return false
  for (const { key } of rows) if (!chosen.has(key)) return false
  return true
}

export function ObjectList({ bucket, prefix, search, isDeleted, chosen, setChosen }: ObjectListProps) {
  const listing = useListing({ bucket, prefix, search, isDeleted })
  const [order, setOrder] = useState<SortOrder>({ by: 'name', isDown: false })
  const rows = useMemo(() => sorted(listing.entries, order), [listing.entries, order])
  const all = useMemo(() => isEvery(rows, chosen), [rows, chosen])
  const toggle = useCallback((entry: Entry) => setChosen(toggled(chosen, entry)), [chosen, setChosen])
  if (listing.isPending) return <Skeleton height={300} aria-label={texts.loading} />
  const problem = listing.error !== null && <Problem error={listing.error} retry={() => void listing.refetch()} />
  // A page of versions may have nothing deleted in it; there is nothing only after the last one.
  if (rows.length === 0 && !listing.hasNextPage) {
    return problem || <Nothing search={search} isDeleted={isDeleted} />
  }
  const toggleAll = (): void => setChosen(all ? new Map() : new Map([...rows].map(entry => [entry.key, entry])))
  return (
    <>
      {problem}
      <VirtualTable
        label={t.listLabel(bucket)}
        columns={classes.columns}
        head={<Head {...{ order, setOrder, all, toggleAll, isDeleted }} some={chosen.size > 0} />}
        foot={<Footer listing={listing} isSorted={order.by !== 'name'} />}
      >
        <FixedRows
          key={`${isDeleted}/${prefix}${search}`}
          count={rows.length}
          rowPixels={ROW_PIXELS}
          pages={listing}
          row={(index, start) => {
            const entry = rows.at(index)!
            return (
              <ObjectRow {...{ bucket, entry, isDeleted, index, start, toggle }} isChosen={chosen.has(entry.key)} />
            )
          }}
        />
      </VirtualTable>
    </>
  )
}

function Footer({ listing, isSorted }: { readonly listing: Listing; readonly isSorted: boolean }) {
  const { entries, hasNextPage, isFetchingNextPage } = listing
  return (
    <>
      <Text size="sm" c="dimmed" role="status">
        {t.loaded(entries.length, !hasNextPage)}
        {isSorted && hasNextPage && `. ${t.sortHint}`}
      </Text>
      {isFetchingNextPage && <Loader size="xs" aria-label={t.loadingMore} />}
    </>
  )
}

/** Entries of a ledger, newest first. Pages are read for the rows in view. */
import { Badge, Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { countText, exactTimeText, visibleText } from '../format.ts'
import { MeasuredRows, useMeasuredRows } from '../parts/measured-rows.tsx'
import { rowAttributes, VirtualTable } from '../parts/virtual-table.tsx'
import { Link, toObject } from '../router.tsx'
import { ledgerTexts } from '../texts/ledger.ts'
import { texts } from '../texts/texts.ts'
import { entryOf, type LedgerEntry } from './entry.ts'
import classes from './entry-list.module.css'
import { type LedgerVisit, ledgerPage, PAGE } from './pages.ts'
import { actorText, sentenceOf } from './sentence.ts'

const t = ledgerTexts.one
const ROW_PIXELS = 64

function What({ entry, bucket }: { readonly entry: LedgerEntry; readonly bucket: string }) {
  const [before, after] = sentenceOf(entry)
  const { key, versionId } = entry
  return (
    <>
      <span>
        {visibleText(before)}
        {key !== undefined && versionId !== undefined && (
          <Link href={toObject(bucket, key, { tab: 'holds', versionId })} className={classes.key}>
            {visibleText(key)}
          </Link>
        )}
        {visibleText(after)}
      </span>
      {versionId !== undefined && (
        <Text size="xs" c="dimmed" className={classes.version}>
          {t.version(visibleText(versionId))}
        </Text>
      )}
    </>
  )
}

interface RowProps {
  readonly visit: LedgerVisit
  readonly sequence: number
  readonly isWrong: boolean
}

function Row({ visit, sequence, isWrong }: RowProps) {
  const index = Math.floor((sequence - 1) / PAGE)
  const { data } = useQuery(ledgerPage(visit, index))
  const line = data?.lines[sequence - 1 - index * PAGE]
  const entry = line === undefined ? undefined : entryOf(line)
  return (
    <>
      <span role="cell" className={classes.number}>
        {countText(sequence)}
      </span>
      <span role="cell" className={classes.time}>
        {entry !== undefined && exactTimeText(new Date(entry.time))}
      </span>
      <span role="cell" className={classes.what}>
        {line === undefined && <Skeleton height={16} aria-label={texts.loading} />}
        {line !== undefined && entry === undefined && t.unreadable}
        {entry !== undefined && <What entry={entry} bucket={visit.bucket} />}
        {isWrong && (
          <Badge color="red" variant="filled">
            {t.wrong}
          </Badge>
        )}
      </span>
      <span role="cell" className={classes.who}>
        {entry !== undefined && (
          <>
            {visibleText(actorText(entry))}
            <Text size="xs" c="dimmed">
              {visibleText(entry.by.accessKey ?? '')}
            </Text>
          </>
        )}
      </span>
    </>
  )
}

interface EntryListProps {
  readonly visit: LedgerVisit
  readonly count: number
  /** The sequence number of a row. */
  readonly sequenceAt: (index: number) => number
  readonly wrong: number | undefined
  /** The entry to bring into view. */
  readonly shown: number | undefined
}

const Head = () => (
  <>
    <span role="columnheader" className={classes.number}>
      {t.number}
    </span>
    <span role="columnheader">{t.time}</span>
    <span role="columnheader">{t.what}</span>
    <span role="columnheader">{t.who}</span>
  </>
)

export function EntryList({ visit, count, sequenceAt, wrong, shown }: EntryListProps) {
  const rows = useMeasuredRows({ count, rowPixels: ROW_PIXELS, keyOf: sequenceAt })
  const { scroller, virtual } = rows
  useEffect(() => {
    if (shown === undefined || shown < 1 || shown > count) return
    virtual.scrollToIndex(count - shown, { align: 'center' })
    scroller.current?.scrollIntoView({ block: 'center' })
  }, [shown, count, virtual, scroller])
  return (
    <VirtualTable label={t.label} count={count} columns={classes.columns} head={<Head />}>
      <MeasuredRows
        {...rows}
        row={({ index, start, key }) => {
          const sequence = sequenceAt(index)
          return (
            <div
              key={key}
              role="row"
              ref={virtual.measureElement}
              data-index={index}
              data-wrong={sequence === wrong}
              data-shown={sequence === shown}
              {...rowAttributes(index, start, classes.columns)}
            >
              <Row {...{ visit, sequence }} isWrong={sequence === wrong} />
            </div>
          )
        }}
      />
    </VirtualTable>
  )
}

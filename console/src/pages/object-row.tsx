/**
 * One row of a list that may be scrolled through quickly: forty of them appear in a frame, so that it has elements of
 * the browser where others have components.
 */
import { memo } from 'react'
import { bytesText, lastPart, timeText, visibleText } from '../format.ts'
import type { Entry } from '../objects/listing.ts'
import { Icon } from '../parts/icons.tsx'
import { rowAttributes } from '../parts/virtual-table.tsx'
import { Link, toFolder, toObject } from '../router.tsx'
import { texts } from '../texts/texts.ts'
import classes from './object-list.module.css'

const t = texts.objects

interface ObjectRowProps {
  readonly bucket: string
  readonly entry: Entry
  readonly isDeleted: boolean
  readonly index: number
  /** Pixels from the top of the list. */
  readonly start: number
  readonly isChosen: boolean
  readonly toggle: (entry: Entry) => void
}

function addressOf(bucket: string, entry: Entry, isDeleted: boolean): string {
  if (entry.kind === 'folder') return toFolder(bucket, entry.key, { deleted: isDeleted })
  return toObject(bucket, entry.key, entry.kind === 'deleted' ? { tab: 'versions' } : {})
}

function Cells({ entry, href }: { readonly entry: Entry; readonly href: string }) {
  return (
    <>
      <span role="cell" className={classes.name}>
        <Icon name={entry.kind === 'folder' ? 'folder' : entry.kind === 'deleted' ? 'trash' : 'file'} />
        <Link href={href} title={visibleText(entry.key)}>
          {visibleText(lastPart(entry.key))}
        </Link>
      </span>
      <span role="cell" className={classes.size}>
        {entry.kind === 'object' ? bytesText(entry.size) : entry.kind === 'folder' ? t.folder : '–'}
      </span>
      <span role="cell" className={classes.time}>
        {entry.kind === 'folder' ? '' : timeText(entry.modifiedAt)}
      </span>
    </>
  )
}

export const ObjectRow = memo((props: ObjectRowProps) => {
  const { bucket, entry, isDeleted, index, start, isChosen, toggle } = props
  return (
    <div role="row" {...rowAttributes(index, start, classes.columns)} aria-selected={isChosen}>
      <span role="cell" className={classes.check}>
        <input
          type="checkbox"
          className={classes.box}
          aria-label={t.select(visibleText(lastPart(entry.key)))}
          checked={isChosen}
          onChange={() => toggle(entry)}
        />
      </span>
      <Cells entry={entry} href={addressOf(bucket, entry, isDeleted)} />
    </div>
  )
})

/** A table of any length: only the rows in view exist. Its body is `FixedRows` or `MeasuredRows`. */
import type { ReactNode } from 'react'
import classes from './virtual-table.module.css'

interface VirtualTableProps {
  readonly label: string
  /** Undefined while not all rows are known. */
  readonly count?: number | undefined
  /** Adds the columns of this table to the row of headings. */
  readonly columns: string | undefined
  readonly head: ReactNode
  readonly children: ReactNode
  readonly foot?: ReactNode
}

export function VirtualTable({ label, count, columns, head, children, foot }: VirtualTableProps) {
  return (
    <div className={classes.list}>
      <div
        className={classes.table}
        role="table"
        aria-label={label}
        aria-rowcount={count === undefined ? -1 : count + 1}
      >
        <div role="rowgroup">
          <div role="row" aria-rowindex={1} className={`${classes.head} ${columns ?? ''}`}>
            {head}
          </div>
        </div>
        {children}
      </div>
      {foot !== undefined && <div className={classes.foot}>{foot}</div>}
    </div>
  )
}

interface RowAttributes {
  readonly 'aria-rowindex': number
  readonly className: string
  readonly style: { readonly transform: string }
}

/** Attributes of an element with the role `row` that begins at a distance from the top of the list. */
export const rowAttributes = (index: number, start: number, columns: string | undefined): RowAttributes => ({
  'aria-rowindex': index + 2,
  className: `${classes.row} ${columns ?? ''}`,
  style: { transform: `translateY(${start}px)` },
})

/** Rows whose texts may need several lines: each is measured when it comes into view. */
import { useVirtualizer, type VirtualItem, type Virtualizer } from '@tanstack/react-virtual'
import { type ReactNode, type RefObject, useRef } from 'react'
import { type PagesAhead, useReadOn } from './use-read-on.ts'
import classes from './virtual-table.module.css'

const OVERSCAN = 8
const READ_AHEAD = 50

interface MeasuredRowsOptions {
  readonly count: number
  /** Of a row that was not measured yet. */
  readonly rowPixels: number
  readonly keyOf: (index: number) => string | number
  readonly pages?: PagesAhead
}

interface MeasuredRowsState {
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly virtual: Virtualizer<HTMLDivElement, Element>
}

export function useMeasuredRows({ count, rowPixels, keyOf, pages }: MeasuredRowsOptions): MeasuredRowsState {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer<HTMLDivElement, Element>({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPixels,
    getItemKey: keyOf,
    overscan: OVERSCAN,
  })
  const last = virtual.getVirtualItems().at(-1)?.index ?? -1
  useReadOn(pages, last >= count - READ_AHEAD)
  return { scroller, virtual }
}

interface MeasuredRowsProps extends MeasuredRowsState {
  /** A row with `data-index` and `virtual.measureElement` as its ref. */
  readonly row: (item: VirtualItem) => ReactNode
}

export function MeasuredRows({ scroller, virtual, row }: MeasuredRowsProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard.
    <div ref={scroller} className={classes.scroller} role="rowgroup" tabIndex={0}>
      <div role="presentation" className={classes.canvas} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(row)}
      </div>
    </div>
  )
}

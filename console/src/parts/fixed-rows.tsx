/** Rows of one height, millions of them: nothing is computed or kept for rows out of view. */
import { Fragment, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { type SlotOrder, slotOf, slotsFor } from './row-slots.ts'
import { canvasPixels, firstRow, resized, rowsAt, type ScrollPosition, scrolledTo } from './scroll-range.ts'
import { type PagesAhead, useReadOn } from './use-read-on.ts'
import classes from './virtual-table.module.css'

const OVERSCAN = 4
const READ_AHEAD = 500

interface FixedRowsProps {
  readonly count: number
  readonly rowPixels: number
  readonly pages: PagesAhead
  /** A memoised row: most rows stay as they are when the list is scrolled by a little. */
  readonly row: (index: number, start: number) => ReactNode
}

interface Scroll {
  readonly position: ScrollPosition
  readonly slots: SlotOrder
}

const TOP: Scroll = { position: { scrollTop: 0, offset: 0 }, slots: { first: 0, shift: 0 } }

/** The height of the view, and where it is scrolled to. */
function useScroll(listPixels: number, rowPixels: number) {
  const scroller = useRef<HTMLDivElement>(null)
  /** As the browser last told it: asking would make it lay out the page. */
  const seenTop = useRef(0)
  const [viewPixels, setViewPixels] = useState(0)
  const [scroll, setScroll] = useState(TOP)
  const slotCount = Math.ceil(viewPixels / rowPixels) + 2 * OVERSCAN + 1
  const range = { listPixels, viewPixels }
  const move = (to: (from: ScrollPosition) => ScrollPosition): void =>
    setScroll(({ position, slots }) => {
      const next = to(position)
      return { position: next, slots: slotsFor(firstRow(next.offset, rowPixels, OVERSCAN), slots, slotCount) }
    })
  useLayoutEffect(() => {
    const element = scroller.current!
    const measure = (): void => setViewPixels(element.clientHeight)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the position follows the range, not the way to move it.
  useLayoutEffect(() => move(from => resized(from, range)), [listPixels, viewPixels])
  const { scrollTop } = scroll.position
  useLayoutEffect(() => {
    if (Math.abs(seenTop.current - scrollTop) < 1) return
    seenTop.current = scrollTop
    scroller.current!.scrollTop = scrollTop
  }, [scrollTop])
  const onScroll = (): void => {
    const top = scroller.current!.scrollTop
    seenTop.current = top
    // Rows that come into view are there before the browser paints.
    flushSync(() => move(from => scrolledTo(top, from, range)))
  }
  return { scroller, onScroll, viewPixels, scroll, slotCount }
}

export function FixedRows({ count, rowPixels, pages, row }: FixedRowsProps) {
  const listPixels = count * rowPixels
  const { scroller, onScroll, viewPixels, scroll, slotCount } = useScroll(listPixels, rowPixels)
  const { position, slots } = scroll
  const { first, end } = rowsAt(position.offset, viewPixels, { count, rowPixels, overscan: OVERSCAN })
  useReadOn(pages, end >= count - READ_AHEAD)
  const shift = Math.round(position.scrollTop - position.offset)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard.
    <div ref={scroller} className={classes.scroller} role="rowgroup" tabIndex={0} onScroll={onScroll}>
      <div role="presentation" className={classes.canvas} style={{ height: canvasPixels({ listPixels, viewPixels }) }}>
        {Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i).map(index => (
          <Fragment key={slotOf(index, slots, slotCount)}>{row(index, index * rowPixels + shift)}</Fragment>
        ))}
      </div>
    </div>
  )
}

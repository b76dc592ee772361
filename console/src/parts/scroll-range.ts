/**
 * Where a long list is scrolled to. Browsers limit the height of an element (Firefox to about 17.8 million pixels,
 * Chromium to 33.5 million), so that the scroll range of a longer list is shorter than the list. Small steps move the
 * list by as many pixels; a jump goes to the same share of the list as of the range.
 */
const CANVAS_PIXELS_MAX = 15_000_000
/** Movements by more views than this are jumps: nobody follows rows with their eyes then. */
const STEP_VIEWS_MAX = 20
/** Closer to an end than this, steps are stretched, so that both ends are met. */
const EDGE_VIEWS = 50

export interface ScrollRange {
  /** The height of all rows. */
  readonly listPixels: number
  readonly viewPixels: number
}

export interface ScrollPosition {
  /** In the scroll range, as the browser counts it. */
  readonly scrollTop: number
  /** Pixels of the list above the view. */
  readonly offset: number
}

export const canvasPixels = ({ listPixels }: ScrollRange): number => Math.min(listPixels, CANVAS_PIXELS_MAX)

function endsOf(range: ScrollRange): { readonly scrollEnd: number; readonly listEnd: number } {
  const { listPixels, viewPixels } = range
  return {
    scrollEnd: Math.max(0, canvasPixels(range) - viewPixels),
    listEnd: Math.max(0, listPixels - viewPixels),
  }
}

/** The position after the browser has scrolled. The list has at least as much left in each direction as the range. */
export function scrolledTo(scrollTop: number, from: ScrollPosition, range: ScrollRange): ScrollPosition {
  const { scrollEnd, listEnd } = endsOf(range)
  const top = Math.min(Math.max(0, scrollTop), scrollEnd)
  if (top === 0) return { scrollTop: 0, offset: 0 }
  if (top === scrollEnd) return { scrollTop: top, offset: listEnd }
  const step = top - from.scrollTop
  if (Math.abs(step) > STEP_VIEWS_MAX * range.viewPixels) {
    return { scrollTop: top, offset: (top / scrollEnd) * listEnd }
  }
  const isDown = step > 0
  const rangeLeft = isDown ? scrollEnd - from.scrollTop : from.scrollTop
  const listLeft = isDown ? listEnd - from.offset : from.offset
  const stretch = rangeLeft > 0 && rangeLeft < EDGE_VIEWS * range.viewPixels ? listLeft / rangeLeft : 1
  return { scrollTop: top, offset: Math.min(Math.max(0, from.offset + step * stretch), listEnd) }
}

/**
 * The position after the list has become longer or shorter, with the same rows in view. At the end of the range there
 * would be no way on to new rows, so that its share of the range is taken anew there.
 */
export function resized(from: ScrollPosition, range: ScrollRange): ScrollPosition {
  const { scrollEnd, listEnd } = endsOf(range)
  const offset = Math.min(from.offset, listEnd)
  const isScaled = listEnd > scrollEnd
  if (!isScaled) return { scrollTop: offset, offset }
  const isAtEdge = scrollEnd - from.scrollTop < EDGE_VIEWS * range.viewPixels
  return { scrollTop: isAtEdge ? (offset / listEnd) * scrollEnd : from.scrollTop, offset }
}

interface RowSpan {
  readonly first: number
  /** Not included. */
  readonly end: number
}

export const firstRow = (offset: number, rowPixels: number, overscan: number): number =>
  Math.max(0, Math.floor(offset / rowPixels) - overscan)

/** The rows in view, and some more on both sides. */
export function rowsAt(offset: number, viewPixels: number, rows: RowCount): RowSpan {
  const { count, rowPixels, overscan } = rows
  return {
    first: firstRow(offset, rowPixels, overscan),
    end: Math.min(count, Math.ceil((offset + viewPixels) / rowPixels) + overscan),
  }
}

interface RowCount {
  readonly count: number
  readonly rowPixels: number
  readonly overscan: number
}

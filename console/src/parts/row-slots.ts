/**
 * Elements of rows that left the view are used again for rows that came. An element that is moved within the page costs
 * as much as a new one, so the order of slots follows the order of rows: a step moves only the rows it must, a jump
 * moves none.
 */
export interface SlotOrder {
  /** The first row that exists. */
  readonly first: number
  readonly shift: number
}

export const slotOf = (index: number, { shift }: SlotOrder, count: number): number =>
  (((index + shift) % count) + count) % count

/** After a jump, the first row takes the slot that the first row had before. */
export function slotsFor(first: number, from: SlotOrder, count: number): SlotOrder {
  const isJump = Math.abs(first - from.first) >= count
  return { first, shift: isJump ? from.shift + from.first - first : from.shift }
}

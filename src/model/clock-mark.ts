import { format, struct, uint } from '../lib/codec.ts'

/** The latest time the store is known to have reached. */
export interface ClockMark {
  readonly time: number
  /** How often an operator has confirmed the wall clock. */
  readonly confirmed: number
}

export const clockMarkFormat = format<ClockMark>('Z1', struct<ClockMark>({ time: uint, confirmed: uint }))

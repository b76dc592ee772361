import { format, struct, uint } from '../lib/codec.ts'

/** The latest time that the store has lived through, as far as that is known. */
export interface ClockMark {
  readonly time: number
  /** Counts how often somebody said that the clock is right, whatever it looked like. */
  readonly confirmed: number
}

export const clockMarkFormat = format<ClockMark>('Z1', struct<ClockMark>({ time: uint, confirmed: uint }))

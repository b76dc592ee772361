/**
 * P19. The time against which locks are evaluated. Normally it is the clock's, but a clock that runs ahead of the
 * accounted time releases nothing until an operator accepts it. The accounted time is the last recorded clock mark plus
 * the monotonic time that has passed since this process read it.
 */
export const JUMP_MS_MAX = 86_400_000

/** Whether the clock is more than a day ahead of the accounted time. */
export const isJump = (now: number, accounted: number): boolean => now - accounted > JUMP_MS_MAX

/**
 * Never later than the clock, so that setting it back keeps objects locked. `trusted` is the clock before the jump plus
 * the monotonic time since: setting the clock back first and then forward must gain nothing.
 */
export const lockTime = (now: number, accounted: number, trusted: number): number =>
  isJump(now, accounted) ? Math.min(accounted, trusted) : now

/** The start of a retention given in days: a clock that is behind must not make it end early. */
export const latestTime = (now: number, accounted: number): number => Math.max(now, accounted)

/** The clock mark to record: it never decreases and never follows a jump. */
export const nextClockMark = (now: number, accounted: number): number =>
  isJump(now, accounted) ? accounted : Math.max(now, accounted)

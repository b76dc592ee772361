/**
 * P19. The time by which locks end. Normally that is the clock's; but a clock that runs ahead of what can be accounted
 * for releases nothing until somebody says that it is right. What can be accounted for: the last time that was written
 * down, and what has really passed since this process saw it.
 */
export const JUMP_MS_MAX = 86_400_000

/** More than a day ahead of what can be accounted for. */
export const isJump = (now: number, accounted: number): boolean => now - accounted > JUMP_MS_MAX

/**
 * Never later than the clock: one that is set back keeps what was locked. `trusted` is what the clock said before it
 * jumped, and what has really passed since: one that was set back first must not gain by being set forward.
 */
export const lockTime = (now: number, accounted: number, trusted: number): number =>
  isJump(now, accounted) ? Math.min(accounted, trusted) : now

/** From when a retention counts that names no date: a clock that is behind must not make it end too early. */
export const latestTime = (now: number, accounted: number): number => Math.max(now, accounted)

/** What to write down: it never falls back, and never follows a jump. */
export const nextClockMark = (now: number, accounted: number): number =>
  isJump(now, accounted) ? accounted : Math.max(now, accounted)

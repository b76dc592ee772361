/** Compares this machine's clock with another machine's, which is read over a network. */
import type { Clock } from './clock.ts'

export interface ClockOffset {
  /** How far the other clock is ahead of this one; negative when it is behind. */
  readonly aheadMs: number
  /** The true offset is at most this far from `aheadMs`. */
  readonly errorMs: number
}

/** From the fastest of several readings: its error is at most half its round trip. */
export async function measureClockOffset(
  clock: Pick<Clock, 'now' | 'elapsed'>,
  readOther: () => Promise<number>,
  readings: number,
): Promise<ClockOffset> {
  let best: ClockOffset = { aheadMs: 0, errorMs: Number.POSITIVE_INFINITY }
  for (let i = 0; i < readings; i++) {
    const [sentAt, started] = [clock.now(), clock.elapsed()]
    const other = await readOther()
    // Monotonic, so that a clock that is set meanwhile does not change the round trip.
    const errorMs = (clock.elapsed() - started) / 2
    if (errorMs < best.errorMs) best = { aheadMs: other - (sentAt + errorMs), errorMs }
  }
  return best
}

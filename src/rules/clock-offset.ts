/**
 * How far the clock of a server may be from that of the database which all gateways share. Signatures allow fifteen
 * minutes between client and server. Retention ends early by as much as a clock is ahead, and presigned requests may
 * last only a minute. A clock that anything synchronises is never a minute off; a bound of seconds would keep out a
 * machine whose time daemon is about to correct it after a start.
 */
import type { ClockOffset } from '../lib/clock-offset.ts'

const WARNED_MS = 2_000
const REFUSED_MS = 60_000

export type ClockFitness = 'good' | 'odd' | 'bad'

/** `bad`: a server must not join. An offset within the error of its measurement does not count. */
export function judgeClockOffset({ aheadMs, errorMs }: ClockOffset): ClockFitness {
  const certainMs = Math.abs(aheadMs) - errorMs
  if (certainMs > REFUSED_MS) return 'bad'
  return certainMs > WARNED_MS ? 'odd' : 'good'
}

/** For operators. */
export function clockOffsetText({ aheadMs }: ClockOffset): string {
  const direction = aheadMs < 0 ? 'behind' : 'ahead of'
  return `the database's clock is ${(Math.abs(aheadMs) / 1000).toFixed(2)} s ${direction} this machine's`
}

export const CLOCK_ADVICE = 'synchronise both with chrony or systemd-timesyncd: signatures and retention depend on them'

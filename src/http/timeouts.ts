/**
 * How long a client may keep the server waiting. Every wait for a client registers here; `check`, called by a timer
 * outside, expires those that are overdue. Tests move the clock.
 */
import type { Clock } from '../lib/clock.ts'

export const TIMEOUTS = {
  /** A body may deliver nothing for this long. */
  bodyIdleMs: 20_000,
  /** Over this window a body must deliver at least this much: 1 KB a second. */
  windowMs: 60_000,
  windowBytesMin: 60 * 1024,
  /** A new connection may take this long to send its first bytes. The runtime has a limit for the rest of a head. */
  firstBytesMs: 40_000,
  /** A connection may take this long to send the headers of its next request. */
  keepAliveMs: 60_000,
  /** A write of a response must drain within this time. */
  responseStallMs: 60_000,
  /** How long a connection lingers after its last response while an earlier one may be unread. */
  unreadResponseMs: 20_000,
  /** How long a connection lingers after its last response for the client to close it. */
  lingerMs: 2_000,
} as const

/** One wait for a client. */
export interface PendingWait {
  isOver(now: number): boolean
  expire(): void
}

export class Timeouts {
  readonly clock: Clock
  readonly #waits = new Set<PendingWait>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  begin(wait: PendingWait): void {
    this.#waits.add(wait)
  }

  end(wait: PendingWait): void {
    this.#waits.delete(wait)
  }

  /** Expires every overdue wait. */
  check(): void {
    const now = this.clock.now()
    for (const wait of this.#waits) {
      if (!wait.isOver(now)) continue
      this.#waits.delete(wait)
      wait.expire()
    }
  }
}

/**
 * The transfer rate of a body. Time counts only while the server waits for bytes: a slow disk is not the client's
 * fault.
 */
export class TransferRate {
  #waitingSince: number | undefined
  #waitedMs = 0
  #bytes = 0
  #wasSlow = false

  wait(now: number): void {
    this.#waitingSince = now
  }

  /** Bytes arrive in bursts: a window is evaluated on arrival, with all bytes up to then. */
  arrived(now: number, bytes: number): void {
    this.#waitedMs += now - (this.#waitingSince ?? now)
    this.#waitingSince = undefined
    this.#bytes += bytes
    if (this.#waitedMs < TIMEOUTS.windowMs) return
    this.#wasSlow = this.#bytes * TIMEOUTS.windowMs < this.#waitedMs * TIMEOUTS.windowBytesMin
    this.#waitedMs = 0
    this.#bytes = 0
  }

  isTooSlow(now: number): boolean {
    if (this.#waitingSince === undefined) return false
    return this.#wasSlow || now - this.#waitingSince >= TIMEOUTS.bodyIdleMs
  }
}

/**
 * How long a client may keep the server waiting. Whatever waits for one says so here; a step that someone else runs
 * ends what has waited too long. There is no timer in here, so that a test can move the clock.
 */
import type { Clock } from '../lib/clock.ts'

export const TIMEOUTS = {
  /** Of a body: without any byte. */
  bodyIdleMs: 20_000,
  /** Of a body: over so long it must bring so much, 1 KB a second. */
  windowMs: 60_000,
  windowBytesMin: 60 * 1024,
  /** Of a connection: until a request has come whole up to its body. */
  keepAliveMs: 60_000,
  /** Of an answer: until what was written has been taken. */
  responseStallMs: 60_000,
  /** Of a connection that has had its last answer, but may not have taken the one before. */
  unreadResponseMs: 20_000,
  /** Of a connection that has had its last answer: until it is closed from the other side. */
  lingerMs: 2_000,
} as const

/** Something that waits for a client. */
export interface PendingWait {
  isOver(now: number): boolean
  expire(): void
}

export class Timeouts {
  readonly #clock: Clock
  readonly #waits = new Set<PendingWait>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now()
  }

  begin(wait: PendingWait): void {
    this.#waits.add(wait)
  }

  end(wait: PendingWait): void {
    this.#waits.delete(wait)
  }

  /** Ends every wait that is over. */
  check(): void {
    const now = this.now()
    for (const wait of this.#waits) {
      if (!wait.isOver(now)) continue
      this.#waits.delete(wait)
      wait.expire()
    }
  }
}

/** How fast a body comes. Time counts only while it is waited for: a slow disk is not the client's fault. */
export class TransferRate {
  #waitingSince: number | undefined
  #waitedMs = 0
  #bytes = 0
  #wasSlow = false

  wait(now: number): void {
    this.#waitingSince = now
  }

  /** Bytes come in bursts: a window is judged when something has come, by all that has come until then. */
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

/**
 * Decides whether to read a file synchronously. A read from the page cache costs less than waking a thread, but the
 * kernel cannot be asked beforehand, so the duration of recent reads decides. After a read that waited for a disk,
 * synchronous reads pause for ten times its duration: a slow disk blocks the event loop for at most a tenth of the
 * time.
 */
import type { Clock } from './clock.ts'

/** Larger reads go to a thread, which copies while this one does other work. */
const BYTES_MAX = 640 * 1024
/** A cached read takes less. A disk read takes more, and so does a read interrupted by the scheduler. */
const SLOW_MS = 0.2
/** No scheduling delay is that long: the read waited for the file, even if the kernel counts no disk access. */
const STALLED_MS = 20
const PAUSE_FACTOR = 10

export class PageCacheReads {
  readonly #clock: Pick<Clock, 'elapsed'>
  /** The kernel's count of this process's disk reads. */
  readonly #diskReads: () => number
  #diskReadsSeen: number
  #notBefore = 0

  constructor(clock: Pick<Clock, 'elapsed'>, diskReads: () => number) {
    this.#clock = clock
    this.#diskReads = diskReads
    this.#diskReadsSeen = diskReads()
  }

  isLikely(bytes: number): boolean {
    return bytes <= BYTES_MAX && this.#clock.elapsed() >= this.#notBefore
  }

  /** Runs a read and records its duration. */
  measure<T>(read: () => T): T {
    const since = this.#clock.elapsed()
    try {
      return read()
    } finally {
      const now = this.#clock.elapsed()
      if (now - since > SLOW_MS) this.#wasSlow(now, now - since)
    }
  }

  #wasSlow(now: number, tookMs: number): void {
    const diskReads = this.#diskReads()
    const cameFromDisk = diskReads !== this.#diskReadsSeen
    this.#diskReadsSeen = diskReads
    if (cameFromDisk || tookMs > STALLED_MS) this.#notBefore = now + PAUSE_FACTOR * tookMs
  }
}

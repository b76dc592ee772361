/**
 * Whether files answer at once, as they do from the page cache: then reading on the spot costs less than waking a
 * thread for it. The kernel cannot be asked beforehand, but how the last reads went says enough. After one that had to
 * wait for a disk, ten times as long passes before the next is tried: slow disks never have more than a tenth of the
 * time in which everybody else waits as well.
 */
import type { Clock } from './clock.ts'

/** Larger reads are left to a thread, which copies while this one does something else. */
const BYTES_MAX = 640 * 1024
/** The cache takes less. A disk takes more, and so does somebody else who has his turn on this core. */
const SLOW_MS = 0.2
/** Nobody else's turn is that long: it was waited for the file, even if that is on no disk the kernel counts. */
const STALLED_MS = 20
const PAUSE_FACTOR = 10

export class PageCacheReads {
  readonly #clock: Pick<Clock, 'elapsed'>
  /** How often this process has had to get something from a disk, as the kernel counts. */
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

  /** Reads, and remembers how that went. */
  timed<T>(read: () => T): T {
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

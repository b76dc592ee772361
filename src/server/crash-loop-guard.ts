/**
 * Decides whether an exited worker is replaced at once, after a delay, or not at all, so that workers that fail at
 * start are not replaced endlessly.
 */
const QUICK_EXIT_MS = 5_000
/** After this many quick exits in a row, replacing stops. */
export const QUICK_EXITS_MAX = 5
const PAUSE_MS = 100

export interface WorkerExit {
  readonly ms: number
  /** It had started to listen. */
  readonly hasServed: boolean
  /** It was killed from outside, so it may not be at fault. */
  readonly wasKilled: boolean
}

export class CrashLoopGuard {
  #consecutive = 0

  /** The delay before a replacement; undefined when there should be none. */
  restartDelayMs({ ms, hasServed, wasKilled }: WorkerExit): number | undefined {
    if (wasKilled && hasServed) return 0
    // A worker that never served failed at start, however long that took on a slow machine.
    const wasShort = !hasServed || ms < QUICK_EXIT_MS
    this.#consecutive = wasShort ? this.#consecutive + 1 : 0
    if (this.#consecutive >= QUICK_EXITS_MAX) {
      if (!wasKilled) return undefined
      this.#consecutive = QUICK_EXITS_MAX - 1
    }
    // The first replacement starts at once.
    return this.#consecutive <= 1 ? 0 : PAUSE_MS * 2 ** this.#consecutive
  }
}

/**
 * Whether a worker that ended is replaced at once, after a pause, or not at all: who dies of its start, or of what
 * every worker meets at once, would be followed by the next without end.
 */
const SHORT_LIFE_MS = 5_000
/** So many short lives in a row, and the next would end in the same way. */
export const QUICK_EXITS_MAX = 5
const PAUSE_MS = 100

export interface WorkerExit {
  readonly ms: number
  /** It came so far as to listen. */
  readonly hasServed: boolean
  /** Somebody ended it who gives no reasons; it is not known to have done anything wrong. */
  readonly wasKilled: boolean
}

export class CrashLoopGuard {
  #inARow = 0

  /** How long to wait before another is started; undefined when there is no use in one. */
  pauseAfter({ ms, hasServed, wasKilled }: WorkerExit): number | undefined {
    if (wasKilled && hasServed) return 0
    // However long a slow machine took over it: one that never served died of its start.
    const wasShort = !hasServed || ms < SHORT_LIFE_MS
    this.#inARow = wasShort ? this.#inARow + 1 : 0
    if (this.#inARow >= QUICK_EXITS_MAX) {
      if (!wasKilled) return undefined
      this.#inARow = QUICK_EXITS_MAX - 1
    }
    // The first one at once: whoever was killed is missed.
    return this.#inARow <= 1 ? 0 : PAUSE_MS * 2 ** this.#inARow
  }
}

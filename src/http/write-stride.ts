/**
 * The size of one write of a response, adapted to the client's speed. Each write has a minute to drain: slow clients
 * get small ones, fast clients larger, cheaper ones.
 */
import type { Clock } from '../lib/clock.ts'

const BYTES_MIN = 64 * 1024
const BYTES_MAX = 512 * 1024
const FAST_MS = 1_000

export class WriteStride {
  readonly #clock: Pick<Clock, 'now'>
  #since = 0
  bytes = BYTES_MIN

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Called before a write. */
  begin(): void {
    this.#since = this.#clock.now()
  }

  /** The client has taken it. */
  end(): void {
    const isFast = this.#clock.now() - this.#since < FAST_MS
    this.bytes = isFast ? Math.min(2 * this.bytes, BYTES_MAX) : BYTES_MIN
  }
}

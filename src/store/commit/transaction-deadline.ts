/**
 * Bounds how long a request waits for its transactions where the engine is behind a network. After a lost connection
 * the engine finds out whether a commit took effect, however long that takes, and everything that depends on the
 * outcome waits for it; the client is told after a bounded time that the outcome is not known yet.
 */
import type { Clock } from '../../lib/clock.ts'
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import { Fault } from '../../model/faults.ts'

export const TRANSACTION_MS_MAX = 30_000

export class TransactionDeadline {
  readonly #clock: Clock
  readonly #reject: (error: unknown) => void
  #hasExpired = false
  /** Rejects when a transaction of the request has taken too long; the transaction itself goes on. */
  readonly expired: Promise<never>

  constructor(clock: Clock) {
    this.#clock = clock
    let reject: (error: unknown) => void = () => {}
    this.expired = new Promise<never>((_, fail) => {
      reject = fail
    })
    this.expired.catch(() => {})
    this.#reject = reject
  }

  async watch<T>(work: Promise<T>): Promise<T> {
    const cancel = this.#clock.after(TRANSACTION_MS_MAX, () => {
      this.#hasExpired = true
      const why = `the outcome of the commit was not known after ${TRANSACTION_MS_MAX / 1000} s`
      // A client must not take a later response on the connection for the response to this request.
      this.#reject(new Fault('ServiceUnavailable', { close: true, why }))
    })
    try {
      return await work
    } finally {
      cancel()
    }
  }

  /** The client has been answered, so nothing more is begun for it. */
  assertPending(): void {
    if (this.#hasExpired) throw new EngineUnavailable('the request was answered before its transaction began')
  }
}

/**
 * Slows down guessing. A request with a valid signature is never affected. Responses to invalid signatures for the same
 * key are delayed more and more, whatever their address. Requests from an address with many failures that name no
 * existing key are refused without a check for a while.
 */
import type { Clock } from '../lib/clock.ts'
import { Fault } from '../model/faults.ts'

const WINDOW_MS = 60_000
/** Failures of one address before its requests with unknown keys are refused unchecked. */
const ADDRESS_FAILURES_MAX = 30
/** Failures of one key before responses are delayed, so that a mistyped secret is reported at once. */
const PROMPT_FAILURES_MAX = 5
const FIRST_DELAY_MS = 250
const DELAY_MS_MAX = 8_000
/** Responses delayed at the same time; beyond that requests are refused at once with TooManyRequests. */
const WAITING_PER_KEY_MAX = 8
const WAITING_MAX = 512
/** Names counted of each kind; the oldest are evicted. */
const REMEMBERED_MAX = 10_000

interface Failures {
  count: number
  readonly since: number
}

/** Failures by name within the window. */
class FailureCounts {
  readonly #clock: Clock
  readonly #counts = new Map<string, Failures>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(name: string): Failures | undefined {
    const found = this.#counts.get(name)
    return found !== undefined && found.since + WINDOW_MS > this.#clock.now() ? found : undefined
  }

  get size(): number {
    return this.#counts.size
  }

  add(name: string): number {
    const found = this.get(name)
    if (found !== undefined) return ++found.count
    this.#counts.delete(name)
    if (this.#counts.size >= REMEMBERED_MAX) this.#counts.delete(this.#counts.keys().next().value!)
    this.#counts.set(name, { count: 1, since: this.#clock.now() })
    return 1
  }

  remove(name: string): void {
    const found = this.#counts.get(name)
    if (found !== undefined && found.count > 0) found.count--
  }
}

/** The key that a request claims. Unknown keys are counted apart, so that they cannot evict real ones. */
export interface ClaimedKey {
  readonly accessKey: string
  readonly exists: boolean
}

export class FailedAttempts {
  readonly #clock: Clock
  readonly #addresses: FailureCounts
  readonly #keys: FailureCounts
  readonly #unknownKeys: FailureCounts
  readonly #waiting = new Map<string, number>()
  #waitingTotal = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#addresses = new FailureCounts(clock)
    this.#keys = new FailureCounts(clock)
    this.#unknownKeys = new FailureCounts(clock)
  }

  /** How many names are counted; bounded. */
  get sizes(): { readonly addresses: number; readonly keys: number; readonly others: number } {
    return { addresses: this.#addresses.size, keys: this.#keys.size, others: this.#unknownKeys.size }
  }

  /** Seconds until unknown keys from this address are checked again; 0 when they are checked now. */
  retryAfterSeconds(address: string): number {
    const failures = this.#addresses.get(address)
    if (failures === undefined || failures.count < ADDRESS_FAILURES_MAX) return 0
    return Math.ceil((failures.since + WINDOW_MS - this.#clock.now()) / 1000)
  }

  recordFailure(address: string): void {
    this.#addresses.add(address)
  }

  /** For an attempt that was counted before its outcome was known. */
  withdrawFailure(address: string): void {
    this.#addresses.remove(address)
  }

  /** Resolves when the response to an invalid signature may be sent; throws when too many are delayed already. */
  async delayResponse({ accessKey, exists }: ClaimedKey): Promise<void> {
    const count = (exists ? this.#keys : this.#unknownKeys).add(accessKey)
    if (count <= PROMPT_FAILURES_MAX) return
    const before = this.#waiting.get(accessKey) ?? 0
    if (before >= WAITING_PER_KEY_MAX || this.#waitingTotal >= WAITING_MAX) {
      throw new Fault('TooManyRequests', { retryAfter: DELAY_MS_MAX / 1000 })
    }
    this.#waiting.set(accessKey, before + 1)
    this.#waitingTotal++
    const delay = Math.min(FIRST_DELAY_MS * 2 ** (count - PROMPT_FAILURES_MAX - 1), DELAY_MS_MAX)
    await new Promise<void>(resolve => this.#clock.after(delay, resolve))
    this.#waitingTotal--
    const left = this.#waiting.get(accessKey)! - 1
    if (left === 0) this.#waiting.delete(accessKey)
    else this.#waiting.set(accessKey, left)
  }
}

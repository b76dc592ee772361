/**
 * Slows down guessing. A request whose signature is right never comes here. Of wrong ones, those that name the same key
 * wait longer and longer for their answer, from wherever they come. What comes from an address that has failed often
 * and names no key that exists is not looked at any more for a while.
 */
import type { Clock } from '../lib/clock.ts'
import { Fault } from '../model/faults.ts'

const WINDOW_MS = 60_000
/** Of one address, before no more work is done for strangers from there. */
const ADDRESS_FAILURES_MAX = 30
/** Of one key, before answers wait: whoever has mistyped a secret is told so at once. */
const PROMPT_FAILURES_MAX = 5
const FIRST_DELAY_MS = 250
const DELAY_MS_MAX = 8_000
/** Answers that wait at the same time; beyond that they come at once, and say nothing but that. */
const WAITING_PER_KEY_MAX = 8
const WAITING_MAX = 512
/** Names that are remembered of each kind; the oldest give way. */
const REMEMBERED_MAX = 10_000

interface Failures {
  count: number
  readonly since: number
}

/** Failures by name, as far back as the window reaches. */
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
}

/** A key that a request names. What is no key is counted apart: made-up names must not push out real ones. */
export interface KeyStanding {
  readonly accessKey: string
  readonly exists: boolean
}

export class FailedAttempts {
  readonly #clock: Clock
  readonly #addresses: FailureCounts
  readonly #keys: FailureCounts
  readonly #noKeys: FailureCounts
  readonly #waiting = new Map<string, number>()
  #waitingInAll = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#addresses = new FailureCounts(clock)
    this.#keys = new FailureCounts(clock)
    this.#noKeys = new FailureCounts(clock)
  }

  /** How many names are kept, which has a limit whatever is tried. */
  get remembered(): { readonly addresses: number; readonly keys: number; readonly others: number } {
    return { addresses: this.#addresses.size, keys: this.#keys.size, others: this.#noKeys.size }
  }

  /** Seconds until strangers from this address are looked at again; 0 when they are. */
  strangersWaitSeconds(address: string): number {
    const failures = this.#addresses.get(address)
    if (failures === undefined || failures.count < ADDRESS_FAILURES_MAX) return 0
    return Math.ceil((failures.since + WINDOW_MS - this.#clock.now()) / 1000)
  }

  failedFrom(address: string): void {
    this.#addresses.add(address)
  }

  /** Resolves when the answer to a wrong signature may go out, and throws when too many are waiting already. */
  async slow({ accessKey, exists }: KeyStanding): Promise<void> {
    const count = (exists ? this.#keys : this.#noKeys).add(accessKey)
    if (count <= PROMPT_FAILURES_MAX) return
    const before = this.#waiting.get(accessKey) ?? 0
    if (before >= WAITING_PER_KEY_MAX || this.#waitingInAll >= WAITING_MAX) {
      throw new Fault('TooManyRequests', { retryAfter: DELAY_MS_MAX / 1000 })
    }
    this.#waiting.set(accessKey, before + 1)
    this.#waitingInAll++
    const delay = Math.min(FIRST_DELAY_MS * 2 ** (count - PROMPT_FAILURES_MAX - 1), DELAY_MS_MAX)
    await new Promise<void>(resolve => this.#clock.after(delay, resolve))
    this.#waitingInAll--
    const left = this.#waiting.get(accessKey)! - 1
    if (left === 0) this.#waiting.delete(accessKey)
    else this.#waiting.set(accessKey, left)
  }
}

/**
 * Tracks active readers and drafts (bytes that are written but not named). A reader enters before it reads any record
 * and leaves after its last byte is sent; a writer enters before its first byte and leaves when the bytes are named or
 * freed. Entries are numbered, not timed, so clock jumps have no effect.
 */

export interface EpochGuard {
  enter(): number
  /** Idempotent. */
  leave(pin: number): void
}

export class EpochTracker implements EpochGuard {
  #next = 0
  /** All but the newest, which is in a field: most leave before the next one enters, and a set costs much more. */
  readonly #active = new Set<number>()
  #last: number | undefined
  /** Waiters in epoch order; the first one resolves next. */
  readonly #waiting: { readonly epoch: number; readonly resolve: () => void }[] = []

  enter(): number {
    const pin = this.#next++
    if (this.#last !== undefined) this.#active.add(this.#last)
    this.#last = pin
    return pin
  }

  leave(pin: number): void {
    this.leaveOnce(pin)
  }

  /** Like `leave`; true the first time. */
  leaveOnce(pin: number): boolean {
    if (pin === this.#last) this.#last = undefined
    else if (!this.#active.delete(pin)) return false
    while (this.#waiting.length > 0 && this.hasPassed(this.#waiting[0]!.epoch)) this.#waiting.shift()!.resolve()
    return true
  }

  /** The current epoch: everything active now was entered before it. */
  current(): number {
    return this.#next
  }

  /**
   * True when everything entered before the epoch has left. A Set iterates in insertion order, so the first entry is
   * the oldest.
   */
  hasPassed(epoch: number): boolean {
    for (const oldest of this.#active) return oldest >= epoch
    return this.#last === undefined || this.#last >= epoch
  }

  /** Resolves when everything active now has left. */
  async drained(): Promise<void> {
    const epoch = this.current()
    if (!this.hasPassed(epoch)) await new Promise<void>(resolve => this.#waiting.push({ epoch, resolve }))
  }

  get count(): number {
    return this.#active.size + Number(this.#last !== undefined)
  }
}

/**
 * Pins the epoch of a request that reads records first and opens objects later: active from the first read until the
 * last object is closed. An entry made only when an object is opened could miss an epoch taken in between.
 */
export class RequestEpochGuard implements EpochGuard {
  readonly #epochs: EpochTracker
  readonly #first: number
  /** Objects opened and not closed yet. */
  #opened = 0
  #hasEnded = false

  constructor(epochs: EpochTracker) {
    this.#epochs = epochs
    this.#first = epochs.enter()
  }

  enter(): number {
    this.#opened++
    return this.#epochs.enter()
  }

  leave(pin: number): void {
    if (this.#epochs.leaveOnce(pin)) this.#opened--
    this.#leaveWhenDone()
  }

  /** No more objects will be opened on records read so far. */
  end(): void {
    this.#hasEnded = true
    this.#leaveWhenDone()
  }

  #leaveWhenDone(): void {
    if (this.#hasEnded && this.#opened === 0) this.#epochs.leave(this.#first)
  }
}

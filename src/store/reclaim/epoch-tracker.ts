/**
 * Who is inside: reading, or writing bytes that have no name yet. A reader takes a ticket before it looks at any record
 * and gives it back when its last byte is sent; a writer takes one before its first byte and gives it back when the
 * bytes have their name or are gone. Tickets are counted, not timed, so a jumping clock cannot break anything.
 */

/** A way in and out. */
export interface EpochGuard {
  enter(): number
  /** Says nothing when it is said again. */
  leave(ticket: number): void
}

export class EpochTracker implements EpochGuard {
  #next = 0
  readonly #active = new Set<number>()
  /** Told when their line is passed; lines grow, so the first is the next to be told. */
  readonly #waiting: { readonly current: number; readonly tell: () => void }[] = []

  enter(): number {
    const ticket = this.#next++
    this.#active.add(ticket)
    return ticket
  }

  leave(ticket: number): void {
    this.leaveOnce(ticket)
  }

  /** The same; true the first time. */
  leaveOnce(ticket: number): boolean {
    if (!this.#active.delete(ticket)) return false
    while (this.#waiting.length > 0 && this.hasPassed(this.#waiting[0]!.current)) this.#waiting.shift()!.tell()
    return true
  }

  /** A line behind everybody who is inside now. */
  current(): number {
    return this.#next
  }

  /**
   * True when everybody who stood before the line has left. Tickets enter the set in order, so the first is the oldest.
   */
  hasPassed(line: number): boolean {
    for (const oldest of this.#active) return oldest >= line
    return true
  }

  /** Resolves when everybody who is inside now has left. */
  async drained(): Promise<void> {
    const line = this.current()
    if (!this.hasPassed(line)) await new Promise<void>(tell => this.#waiting.push({ current: line, tell }))
  }

  get count(): number {
    return this.#active.size
  }
}

/**
 * Somebody who looks first and opens later, on what was seen then: stays from the first look until the last thing that
 * was opened is closed. A ticket taken only when it is opened would stand behind a line that was drawn in between.
 */
export class EpochPin implements EpochGuard {
  readonly #epochs: EpochTracker
  readonly #first: number
  /** How much of what was opened is not closed yet. */
  #opened = 0
  #hasLooked = false

  constructor(epochs: EpochTracker) {
    this.#epochs = epochs
    this.#first = epochs.enter()
  }

  enter(): number {
    this.#opened++
    return this.#epochs.enter()
  }

  leave(ticket: number): void {
    if (this.#epochs.leaveOnce(ticket)) this.#opened--
    this.#leaveAtLast()
  }

  /** Nothing more will be opened on what was seen. */
  end(): void {
    this.#hasLooked = true
    this.#leaveAtLast()
  }

  #leaveAtLast(): void {
    if (this.#hasLooked && this.#opened === 0) this.#epochs.leave(this.#first)
  }
}

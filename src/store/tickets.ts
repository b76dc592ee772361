/**
 * Who is inside: reading, or writing bytes that have no name yet. A reader takes a ticket before it looks at any record
 * and gives it back when its last byte is sent; a writer takes one before its first byte and gives it back when the
 * bytes have their name or are gone. Tickets are counted, not timed, so a jumping clock cannot break anything.
 */

/** A way in and out. */
export interface Entrance {
  enter(): number
  /** Says nothing when it is said again. */
  leave(ticket: number): void
}

export class Tickets implements Entrance {
  #next = 0
  readonly #active = new Set<number>()
  /** Told when their line is passed; lines grow, so the first is the next to be told. */
  readonly #waiting: { readonly line: number; readonly tell: () => void }[] = []

  enter(): number {
    const ticket = this.#next++
    this.#active.add(ticket)
    return ticket
  }

  leave(ticket: number): void {
    this.left(ticket)
  }

  /** The same; true the first time. */
  left(ticket: number): boolean {
    if (!this.#active.delete(ticket)) return false
    while (this.#waiting.length > 0 && this.passed(this.#waiting[0]!.line)) this.#waiting.shift()!.tell()
    return true
  }

  /** A line behind everybody who is inside now. */
  line(): number {
    return this.#next
  }

  /**
   * True when everybody who stood before the line has left. Tickets enter the set in order, so the first is the oldest.
   */
  passed(line: number): boolean {
    for (const oldest of this.#active) return oldest >= line
    return true
  }

  /** Resolves when everybody who is inside now has left. */
  async emptied(): Promise<void> {
    const line = this.line()
    if (!this.passed(line)) await new Promise<void>(tell => this.#waiting.push({ line, tell }))
  }

  get count(): number {
    return this.#active.size
  }
}

/**
 * Somebody who looks first and opens later, on what was seen then: stays from the first look until the last thing that
 * was opened is closed. A ticket taken only when it is opened would stand behind a line that was drawn in between.
 */
export class Stay implements Entrance {
  readonly #tickets: Tickets
  readonly #first: number
  /** How much of what was opened is not closed yet. */
  #opened = 0
  #hasLooked = false

  constructor(tickets: Tickets) {
    this.#tickets = tickets
    this.#first = tickets.enter()
  }

  enter(): number {
    this.#opened++
    return this.#tickets.enter()
  }

  leave(ticket: number): void {
    if (this.#tickets.left(ticket)) this.#opened--
    this.#leaveAtLast()
  }

  /** Nothing more will be opened on what was seen. */
  end(): void {
    this.#hasLooked = true
    this.#leaveAtLast()
  }

  #leaveAtLast(): void {
    if (this.#hasLooked && this.#opened === 0) this.#tickets.leave(this.#first)
  }
}

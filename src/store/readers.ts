/**
 * Who is reading. A reader takes a ticket before it looks at any record and gives it back when its last byte is sent.
 * What lost its name may be freed only once every reader is gone that had its ticket when the name was seen to be gone:
 * then nobody can still hold a reference. Tickets are counted, not timed, so a jumping clock cannot break a read.
 */
export class Readers {
  #next = 0
  readonly #active = new Set<number>()

  enter(): number {
    const ticket = this.#next++
    this.#active.add(ticket)
    return ticket
  }

  leave(ticket: number): void {
    this.#active.delete(ticket)
  }

  /** A line behind everybody who is reading now. */
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

  get count(): number {
    return this.#active.size
  }
}

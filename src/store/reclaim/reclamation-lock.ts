/**
 * Whoever frees bytes that had a name asks here first. A backup keeps everybody from it: what its snapshot names stays
 * where it is until the backup ends, and not longer than this process lives.
 */
export class ReclamationLock {
  #inside = 0
  #holds = 0
  readonly #waiting: (() => void)[] = []

  get isHeld(): boolean {
    return this.#holds > 0
  }

  /** Frees something, unless that is held up: then it returns false, and nothing was done. */
  async free(work: () => Promise<void>): Promise<boolean> {
    if (this.isHeld) return false
    this.#inside++
    try {
      await work()
      return true
    } finally {
      this.#inside--
      if (this.#inside === 0) for (const tell of this.#waiting.splice(0)) tell()
    }
  }

  /** Resolves when nothing is being freed, and from then on nothing is until what it resolves to is called. */
  async hold(): Promise<() => void> {
    this.#holds++
    if (this.#inside > 0) await new Promise<void>(tell => this.#waiting.push(tell))
    let held = true
    return () => {
      if (held) this.#holds--
      held = false
    }
  }
}

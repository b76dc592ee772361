/**
 * Tells what was met lately, by a number that stands for it: a few bytes, however much is met. Numbers with the same
 * slot displace each other, so that something may count as new once more; two with the same number count as one.
 */
export class RecentMarks {
  readonly #slots: Uint32Array

  constructor(slots: number) {
    this.#slots = new Uint32Array(slots)
  }

  /** Also remembers it. Zero is never new. */
  isNew(mark: number): boolean {
    const slot = mark % this.#slots.length
    if (this.#slots[slot] === mark) return false
    this.#slots[slot] = mark
    return true
  }
}

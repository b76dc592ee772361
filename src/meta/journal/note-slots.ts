/** Where notes stand: a place is used again once the journal that tells the same as its note is on stable storage. */
export class NoteSlots {
  /** In the order of commits: each is free when the journal is durable up to its position. */
  #waiting: { readonly place: number; readonly position: number }[] = []
  #first = 0
  readonly #free: number[] = []
  #count = 0

  take(): number {
    return this.#free.pop() ?? this.#count++
  }

  /** Its commit is in the journal, which ends at this position. */
  fill(place: number, position: number): void {
    this.#waiting.push({ place, position })
  }

  /** Its commit did not take place. */
  giveBack(place: number): void {
    this.#free.push(place)
  }

  /** The journal is durable up to here. */
  release(position: number): void {
    while (this.#first < this.#waiting.length && this.#waiting[this.#first]!.position <= position) {
      this.#free.push(this.#waiting[this.#first++]!.place)
    }
    if (this.#first < 1024 && this.#first < this.#waiting.length) return
    this.#waiting = this.#waiting.slice(this.#first)
    this.#first = 0
  }
}

/** Slots of deletion notes: a slot is reused once the journal with the same deletion is on stable storage. */
export class NoteSlots {
  /** In commit order: each slot is free once the journal is durable up to its position. */
  #pending: { readonly slot: number; readonly position: number }[] = []
  #first = 0
  readonly #free: number[] = []
  #count = 0

  take(): number {
    return this.#free.pop() ?? this.#count++
  }

  /** The commit is in the journal, which ends at this position. */
  fill(slot: number, position: number): void {
    this.#pending.push({ slot, position })
  }

  /** The commit failed. */
  free(slot: number): void {
    this.#free.push(slot)
  }

  /** The journal is durable up to this position. */
  release(position: number): void {
    while (this.#first < this.#pending.length && this.#pending[this.#first]!.position <= position) {
      this.#free.push(this.#pending[this.#first++]!.slot)
    }
    if (this.#first < 1024 && this.#first < this.#pending.length) return
    this.#pending = this.#pending.slice(this.#first)
    this.#first = 0
  }
}

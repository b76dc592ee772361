/**
 * Records that the second copy of the metadata has and the engine has lost, by their keys. Empty but for stores that
 * wait for `holdfast rebuild`. Shared by everything in a process that looks for records.
 */
export interface LostRecordKeys {
  readonly keys: readonly Buffer[]
  /** Kinds of records, by the first byte of their keys, of which more are lost than have names here. */
  readonly more: readonly number[]
}

export class LostRecords {
  #keys: readonly Buffer[] = []
  #more: ReadonlySet<number> = new Set()
  /** The one thing that is looked at while nothing is lost. */
  isAny = false

  /** Takes the place of what was known before. */
  replace({ keys, more }: LostRecordKeys): void {
    this.#keys = [...keys].sort((one, other) => one.compare(other))
    this.#more = new Set(more)
    this.isAny = keys.length > 0 || more.length > 0
  }

  /** So many records of its kind are lost that one which is not found may be among them. */
  mayHave(key: Buffer): boolean {
    return this.#more.has(key[0]!)
  }

  has(key: Buffer): boolean {
    return this.#keys[this.#placeOf(key)]?.equals(key) === true
  }

  /** Whether one may stand from `start` on and before `end`; without an end, anywhere from `start` on. */
  mayBeWithin(start: Buffer, end: Buffer | undefined): boolean {
    if (this.mayHave(start)) return true
    const first = this.#keys[this.#placeOf(start)]
    return first !== undefined && (end === undefined || first.compare(end) < 0)
  }

  /** Of the first key that is not less. */
  #placeOf(key: Buffer): number {
    let low = 0
    let high = this.#keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#keys[middle]!.compare(key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/**
 * Keys of records that the second copy has and the engine has lost. Empty except in stores that wait for `holdfast
 * rebuild`. Shared by everything in a process that reads records.
 */
interface LostRecordKeys {
  readonly keys: readonly Buffer[]
  /** Kinds of records, by the first byte of their key, that lost more records than are listed here. */
  readonly more: readonly number[]
}

export class LostRecords {
  #keys: readonly Buffer[] = []
  #more: ReadonlySet<number> = new Set()
  /** The only check on the fast path, while nothing is lost. */
  isAny = false

  /** Keys of known losses, and kinds with more of them than are listed. */
  get known(): LostRecordKeys {
    return { keys: this.#keys, more: [...this.#more] }
  }

  /** Replaces the previous set. */
  replace({ keys, more }: LostRecordKeys): void {
    this.#keys = [...keys].sort((one, other) => one.compare(other))
    this.#more = new Set(more)
    this.isAny = keys.length > 0 || more.length > 0
  }

  /** True when too many records of this kind are lost to list them, so that a missing one may be among them. */
  mayHave(key: Buffer): boolean {
    return this.#more.has(key[0]!)
  }

  has(key: Buffer): boolean {
    return this.#keys[this.#indexOf(key)]?.equals(key) === true
  }

  /** Whether a lost record may exist in [start, end), or from `start` on without an end. */
  mayBeWithin(start: Buffer, end: Buffer | undefined): boolean {
    if (this.mayHave(start)) return true
    const first = this.#keys[this.#indexOf(start)]
    return first !== undefined && (end === undefined || first.compare(end) < 0)
  }

  /** Index of the first key that is not less. */
  #indexOf(key: Buffer): number {
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

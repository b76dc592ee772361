/** Lists that are made of pages. A page that arrives does not copy those before it. */

/** The rows of a list by number; arrays are such lists. */
export type Rows<T> = Pick<readonly T[], 'length' | 'at'> & Iterable<T>

export class PagedList<T> implements Rows<T> {
  readonly length: number
  readonly #pages: readonly (readonly T[])[]
  /** The index of the first item of each page. */
  readonly #starts: readonly number[]

  constructor(pages: readonly (readonly T[])[]) {
    const starts: number[] = []
    let length = 0
    for (const page of pages) {
      starts.push(length)
      length += page.length
    }
    this.#pages = pages
    this.#starts = starts
    this.length = length
  }

  at(index: number): T | undefined {
    let [low, high] = [0, this.#starts.length]
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if (this.#starts[middle]! <= index) low = middle
      else high = middle
    }
    return this.#pages[low]?.[index - this.#starts[low]!]
  }

  *[Symbol.iterator](): Generator<T> {
    for (const page of this.#pages) yield* page
  }
}

export class ReversedList<T> implements Rows<T> {
  readonly #rows: Rows<T>

  constructor(rows: Rows<T>) {
    this.#rows = rows
  }

  get length(): number {
    return this.#rows.length
  }

  at(index: number): T | undefined {
    return this.#rows.at(this.length - 1 - index)
  }

  *[Symbol.iterator](): Generator<T> {
    yield* [...this.#rows].reverse()
  }
}

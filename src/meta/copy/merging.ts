/** Several rows of rows in the order of keys, made into one: everything that is known of a key, the oldest first. */
import { compareOrder, type Row } from './rows.ts'

export interface History {
  readonly key: Buffer
  /** What was written to the key, the oldest first. */
  readonly rows: readonly Row[]
}

const HISTORIES_MAX = 256

class Cursor {
  readonly #source: AsyncIterator<readonly Row[]>
  #rows: readonly Row[] = []
  #at = 0

  constructor(source: AsyncIterable<readonly Row[]>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  get row(): Row | undefined {
    return this.#rows[this.#at]
  }

  /** True when the next row is only known after `fill`. */
  advance(): boolean {
    return ++this.#at >= this.#rows.length
  }

  async fill(): Promise<void> {
    for (;;) {
      const next = await this.#source.next()
      this.#rows = next.done === true ? [] : next.value
      this.#at = 0
      if (next.done === true || this.#rows.length > 0) return
    }
  }

  async close(): Promise<void> {
    await this.#source.return?.()
  }
}

function leastOf(cursors: readonly Cursor[]): Buffer | undefined {
  let least: Buffer | undefined
  for (const { row } of cursors) if (row !== undefined && (!least || row.key.compare(least) < 0)) least = row.key
  return least
}

/** Each source is in the order of keys; one may have a key several times. */
export async function* histories(sources: readonly AsyncIterable<readonly Row[]>[]): AsyncGenerator<History[]> {
  const cursors = sources.map(source => new Cursor(source))
  try {
    for (const cursor of cursors) await cursor.fill()
    let some: History[] = []
    for (let key = leastOf(cursors); key !== undefined; key = leastOf(cursors)) {
      const rows: Row[] = []
      for (const cursor of cursors) {
        while (cursor.row?.key.equals(key)) {
          rows.push(cursor.row)
          if (cursor.advance()) await cursor.fill()
        }
      }
      if (rows.length > 1) rows.sort(compareOrder)
      some.push({ key, rows })
      if (some.length < HISTORIES_MAX) continue
      yield some
      some = []
    }
    yield some
  } finally {
    for (const cursor of cursors) await cursor.close()
  }
}

/** Merges sorted streams of rows into the history of each key, oldest write first. */
import { type CopyRow, compareOrder } from './copy-format.ts'

export interface KeyHistory {
  readonly key: Buffer
  /** Writes of the key, oldest first. */
  readonly rows: readonly CopyRow[]
}

const HISTORIES_MAX = 256

class Cursor {
  readonly #source: AsyncIterator<readonly CopyRow[]>
  #rows: readonly CopyRow[] = []
  #at = 0

  constructor(source: AsyncIterable<readonly CopyRow[]>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  get row(): CopyRow | undefined {
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

/** Cursors that have a row, with the least key at the top. */
class Heap {
  readonly #cursors: Cursor[] = []

  get top(): Cursor | undefined {
    return this.#cursors[0]
  }

  add(cursor: Cursor): void {
    if (cursor.row === undefined) return
    const cursors = this.#cursors
    let at = cursors.push(cursor) - 1
    for (let above = (at - 1) >> 1; at > 0 && isBefore(cursor, cursors[above]!); above = (at - 1) >> 1) {
      cursors[at] = cursors[above]!
      cursors[above] = cursor
      at = above
    }
  }

  /** Restores the order after the top cursor advanced or ended. */
  sink(): void {
    const cursors = this.#cursors
    if (cursors[0]!.row === undefined) {
      const last = cursors.pop()!
      if (cursors.length === 0) return
      cursors[0] = last
    }
    const moved = cursors[0]!
    for (let at = 0; ; ) {
      let least = 2 * at + 1
      if (least >= cursors.length) return
      if (least + 1 < cursors.length && isBefore(cursors[least + 1]!, cursors[least]!)) least++
      if (!isBefore(cursors[least]!, moved)) return
      cursors[at] = cursors[least]!
      cursors[least] = moved
      at = least
    }
  }
}

const isBefore = (a: Cursor, b: Cursor): boolean => a.row!.key.compare(b.row!.key) < 0

/** Each source is sorted by key and may contain a key several times. */
export async function* mergeHistories(
  sources: readonly AsyncIterable<readonly CopyRow[]>[],
): AsyncGenerator<KeyHistory[]> {
  const cursors = sources.map(source => new Cursor(source))
  const heap = new Heap()
  try {
    for (const cursor of cursors) {
      await cursor.fill()
      heap.add(cursor)
    }
    let batch: KeyHistory[] = []
    for (let top = heap.top; top !== undefined; top = heap.top) {
      const { key } = top.row!
      const rows: CopyRow[] = []
      for (let next: Cursor | undefined = top; next?.row?.key.equals(key); next = heap.top) {
        rows.push(next.row!)
        if (next.advance()) await next.fill()
        heap.sink()
      }
      if (rows.length > 1) rows.sort(compareOrder)
      batch.push({ key, rows })
      if (batch.length < HISTORIES_MAX) continue
      yield batch
      batch = []
    }
    yield batch
  } finally {
    for (const cursor of cursors) await cursor.close()
  }
}

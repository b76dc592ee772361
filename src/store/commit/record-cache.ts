/**
 * Small records that were read lately, by their keys: a bucket's above all, which every request to it looks at. Nothing
 * here is taken for true; it spares reading and decoding a record again that has still the same stamp.
 */
import type { Entry } from '../../meta/meta.ts'

const ENTRIES_MAX = 1_000
/** What is larger is an object with its bytes, and is not kept. */
const VALUE_BYTES_MAX = 1_024

export class RecordCache {
  readonly #entries = new Map<string, Entry>()

  get(name: string): Entry | undefined {
    return this.#entries.get(name)
  }

  set(name: string, entry: Entry): void {
    if (entry.value.length > VALUE_BYTES_MAX) return
    // One that is noted again takes the place of its predecessor; otherwise the oldest goes.
    if (this.#entries.size >= ENTRIES_MAX && !this.#entries.has(name)) {
      this.#entries.delete(this.#entries.keys().next().value!)
    }
    // A copy: a driver cuts what it reads from larger pieces of memory, and one record would keep all of its piece.
    this.#entries.set(name, { key: entry.key, value: Buffer.from(entry.value), stamp: entry.stamp })
  }
}

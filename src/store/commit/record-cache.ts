/**
 * Recently read small records by key, above all the bucket record that every request reads. An entry is never trusted
 * on its own; while its stamp is current it saves reading and decoding the record again.
 */
import type { Entry } from '../../meta/meta.ts'

const ENTRIES_MAX = 1_000
/** Larger values are objects with inline bytes and are not cached. */
const VALUE_BYTES_MAX = 1_024

export class RecordCache {
  readonly #entries = new Map<string, Entry>()

  get(name: string): Entry | undefined {
    return this.#entries.get(name)
  }

  set(name: string, entry: Entry): void {
    if (entry.value.length > VALUE_BYTES_MAX) return
    // An existing entry is replaced in place; otherwise the oldest is evicted.
    if (this.#entries.size >= ENTRIES_MAX && !this.#entries.has(name)) {
      this.#entries.delete(this.#entries.keys().next().value!)
    }
    // Copied, because drivers slice values from larger buffers and one record would retain its whole buffer.
    this.#entries.set(name, { key: entry.key, value: Buffer.from(entry.value), stamp: entry.stamp })
  }
}

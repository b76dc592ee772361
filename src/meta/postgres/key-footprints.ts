/**
 * The keys that running batches read and write. Minitransactions in one batch, or running concurrently on the other
 * connection, must not write what another one uses: within a batch that would be wrong, and across batches one would
 * only wait for the other in the server.
 */
const WRITTEN = -1

export interface Footprint {
  /** Keys that are written. */
  readonly writes: readonly string[]
  /** Keys that are checked but not written. */
  readonly checks: readonly string[]
}

export class KeyFootprints {
  /** Number of readers of the key, or WRITTEN. */
  readonly #keys = new Map<string, number>()

  tryTake({ writes, checks }: Footprint): boolean {
    if (writes.some(key => this.#keys.has(key))) return false
    if (checks.some(key => this.#keys.get(key) === WRITTEN)) return false
    for (const key of writes) this.#keys.set(key, WRITTEN)
    for (const key of checks) this.#keys.set(key, (this.#keys.get(key) ?? 0) + 1)
    return true
  }

  release({ writes, checks }: Footprint): void {
    for (const key of writes) this.#keys.delete(key)
    for (const key of checks) {
      const readers = this.#keys.get(key)! - 1
      if (readers === 0) this.#keys.delete(key)
      else this.#keys.set(key, readers)
    }
  }
}

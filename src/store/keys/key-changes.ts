/** Key changes in progress in a folder. Keys change only in the owner process, so its order is the global order. */

export interface KeyProgress {
  /** Versions and uploads scanned so far. */
  scanned: number
  /** True when the key was enabled meanwhile. */
  isWithdrawn: boolean
}

/** A scan for locked versions that need a key. */
export interface KeyUseScanState extends KeyProgress {
  /** Resolves when the key is disabled; rejects with the reason it is not. */
  readonly outcome: Promise<void>
}

export class KeyChanges {
  /** The latest requested change; changes run one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  /** Running scans by key name. */
  readonly scans = new Map<string, KeyUseScanState>()
  /** The record that kept a key from being disabled last time, by key name. */
  readonly blockers = new Map<string, Buffer>()

  exclusively<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#last.then(change)
    this.#last = changed.catch(() => {})
    return changed
  }
}

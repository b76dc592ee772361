/**
 * What is under way with the keys of a folder, whoever asked for it. They change in one process, the owner of the
 * folder, so its order is that of all.
 */

export interface KeyProgress {
  /** Versions and uploads so far. */
  scanned: number
  /** The key was enabled meanwhile. */
  isWithdrawn: boolean
}

/** Somebody looks whether a locked version needs a key. */
export interface KeyUseScanState extends KeyProgress {
  /** The key is disabled, or why it is not. */
  readonly outcome: Promise<void>
}

export class KeyChanges {
  /** The change that was asked for last: one after the other, so that none undoes half of another. */
  #last: Promise<unknown> = Promise.resolve()
  /** By the name of the key. */
  readonly scans = new Map<string, KeyUseScanState>()
  /** The record that kept a key from being disabled the last time, by the name of the key. */
  readonly blockers = new Map<string, Buffer>()

  exclusively<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#last.then(change)
    this.#last = changed.catch(() => {})
    return changed
  }
}

/** Tells listeners of changes, but not more often than a screen can show them. */
const INTERVAL_MS = 50

export class ThrottledChanges {
  readonly #listeners = new Set<() => void>()
  #isWaiting = false

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** `prepare` runs once before the listeners are told. */
  changed(prepare: () => void): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    setTimeout(() => {
      this.#isWaiting = false
      prepare()
      for (const listener of this.#listeners) listener()
    }, INTERVAL_MS)
  }
}

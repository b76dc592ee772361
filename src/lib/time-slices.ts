/** Lets one request compute for long without holding up all others: now and then the event loop serves them. */

const SLICE_MS = 10

/** The time slices of one request, shared by everything that it does at once. */
export class TimeSlices {
  #began = performance.now()
  #pause: Promise<void> | undefined

  /** Takes a short step: at once, or after a turn of the event loop. Nothing runs between the check and the step. */
  async run<T>(step: () => T): Promise<T> {
    // After a pause the first of several steps may use up the new slice.
    while (performance.now() - this.#began >= SLICE_MS) await (this.#pause ??= this.#turn())
    return step()
  }

  async #turn(): Promise<void> {
    await new Promise(resolve => setImmediate(resolve))
    this.#pause = undefined
    this.#began = performance.now()
  }
}

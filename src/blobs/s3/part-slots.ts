/** Bounds the memory of all long uploads of this process: each holds one slot for every part it has in memory. */
import type { Clock } from '../../lib/clock.ts'
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'

interface Waiting {
  readonly grant: () => void
}

export class PartSlots {
  readonly #clock: Clock
  readonly #waitMsMax: number
  readonly #waiting = new Set<Waiting>()
  #free: number

  constructor(clock: Clock, count: number, waitMsMax: number) {
    this.#clock = clock
    this.#free = count
    this.#waitMsMax = waitMsMax
  }

  /** Waits for a slot, in the order of arrival. Slow clients may hold all of them, so the wait is bounded. */
  async acquire(): Promise<void> {
    if (this.#free > 0) {
      this.#free--
      return
    }
    await new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        grant: () => {
          cancel()
          resolve()
        },
      }
      const cancel = this.#clock.after(this.#waitMsMax, () => {
        this.#waiting.delete(waiting)
        reject(new EngineUnavailable('too many long uploads are in progress: their parts fill the memory set aside'))
      })
      this.#waiting.add(waiting)
    })
  }

  release(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free++
      return
    }
    this.#waiting.delete(next)
    next.grant()
  }
}

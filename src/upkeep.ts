/** Runs the workers of a store, each at its own pace, until told to stop. */
import type { ClockState } from './store/lock-clock.ts'
import type { Store } from './store/store.ts'
import { isFinal, type Tell } from './tell.ts'
import { Compactor } from './workers/compact.ts'
import { Forgetter } from './workers/forget.ts'
import { BucketIndexer } from './workers/index-buckets.ts'
import { Lifecycle } from './workers/lifecycle.ts'
import { ClockMarker } from './workers/mark-clock.ts'
import { Reclaimer } from './workers/reclaim.ts'
import { Sweeper } from './workers/sweep.ts'
import type { Worker } from './workers/worker.ts'

const RECLAIM_MS = 1_000
const COMPACT_MS = 60_000
const FORGET_MS = 3_600_000
const SWEEP_MS = 24 * 3_600_000
/** For somebody who has to leave first. */
const WAIT_MS = 1_000
const LIFECYCLE_MS = 3_600_000
const MARK_CLOCK_MS = 60_000

const jumpLine = ({ clock, lockTime }: ClockState): Readonly<Record<string, unknown>> => ({
  level: 'warn',
  clock: `The clock says ${new Date(clock).toISOString()}, more than a day ahead of what this store has lived through. \
No lock ends by it: locks go by ${new Date(lockTime).toISOString()} until somebody confirms the clock. \
Lifecycle rules do so for a day.`,
})

/** A worker, and how long it rests when it has nothing to do. */
export interface Chore {
  readonly worker: Worker
  readonly pauseMs: number
  /** True when it only waits for others and shall be asked again soon. */
  readonly isWaiting?: () => boolean
}

/** What a store needs to have done while it serves. */
export const choresOf = (store: Store, tell: Tell): readonly Chore[] => [
  { worker: new ClockMarker(store.engine, state => tell.log(jumpLine(state))), pauseMs: MARK_CLOCK_MS },
  { worker: new Reclaimer(store.engine), pauseMs: RECLAIM_MS },
  { worker: new Compactor(store.engine), pauseMs: COMPACT_MS },
  { worker: new Forgetter(store.engine, store.completion), pauseMs: FORGET_MS },
  { worker: new Lifecycle(store.engine), pauseMs: LIFECYCLE_MS },
  { worker: new BucketIndexer(store.engine), pauseMs: FORGET_MS },
]

/** Of bytes that never got a name: at the start, once a day, and when a process has died with its hands full. */
export function sweepingOf(store: Store): Chore {
  const worker = new Sweeper(store.engine)
  return { worker, pauseMs: SWEEP_MS, isWaiting: () => worker.isWaiting }
}

export class Upkeep {
  readonly #tell: Tell
  readonly #loops: Promise<void>[]
  /** Ends the pauses under way. */
  readonly #pauses = new Map<Chore, () => void>()
  /** For these the next pause is left out. */
  readonly #woken = new Set<Chore>()
  #stopped = false

  constructor(chores: readonly Chore[], tell: Tell) {
    this.#tell = tell
    this.#loops = chores.map(chore => this.#run(chore))
  }

  /** A step that fails is told and tried again later. */
  async #run(chore: Chore): Promise<void> {
    while (!this.#stopped) {
      this.#woken.delete(chore)
      await this.#work(chore.worker).catch((error: unknown) => {
        this.#tell.log({ level: 'error', upkeep: String(error) })
        if (isFinal(error)) this.#tell.end()
      })
      if (!this.#stopped && !this.#woken.has(chore)) await this.#pause(chore)
    }
  }

  /** However much there is to do: a walk through millions of records is left between two steps. */
  async #work(worker: Worker): Promise<void> {
    while (!this.#stopped && (await worker.step()) === 'busy');
  }

  #pause(chore: Chore): Promise<void> {
    return new Promise(resolve => {
      const end = (): void => {
        clearTimeout(timer)
        this.#pauses.delete(chore)
        resolve()
      }
      const timer = setTimeout(end, chore.isWaiting?.() === true ? WAIT_MS : chore.pauseMs)
      this.#pauses.set(chore, end)
    })
  }

  /** There is something to do for this one now. */
  wake(chore: Chore): void {
    this.#woken.add(chore)
    this.#pauses.get(chore)?.()
  }

  /** Resolves when the steps under way are done. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const end of this.#pauses.values()) end()
    await Promise.all(this.#loops)
  }
}

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
import { runUntilIdle, type Worker } from './workers/worker.ts'

const RECLAIM_MS = 1_000
const COMPACT_MS = 60_000
const FORGET_MS = 3_600_000
const LIFECYCLE_MS = 3_600_000
const MARK_CLOCK_MS = 60_000

const jumpLine = ({ clock, lockTime }: ClockState): Readonly<Record<string, unknown>> => ({
  level: 'warn',
  clock: `The clock says ${new Date(clock).toISOString()}, more than a day ahead of what this store has lived through. \
No lock ends by it: locks go by ${new Date(lockTime).toISOString()} until somebody confirms the clock.`,
})

/** A worker, and how long it rests when it has nothing to do. */
export interface Chore {
  readonly worker: Worker
  readonly pauseMs: number
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

export class Upkeep {
  readonly #tell: Tell
  readonly #loops: Promise<void>[]
  /** Ends the pauses under way. */
  readonly #pauses = new Set<() => void>()
  #stopped = false

  constructor(chores: readonly Chore[], tell: Tell) {
    this.#tell = tell
    this.#loops = chores.map(chore => this.#run(chore))
  }

  /** A step that fails is told and tried again later. */
  async #run({ worker, pauseMs }: Chore): Promise<void> {
    while (!this.#stopped) {
      await runUntilIdle(worker).catch((error: unknown) => {
        this.#tell.log({ level: 'error', upkeep: String(error) })
        if (isFinal(error)) this.#tell.end()
      })
      if (!this.#stopped) await this.#pause(pauseMs)
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const end = (): void => {
        clearTimeout(timer)
        this.#pauses.delete(end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      this.#pauses.add(end)
    })
  }

  /** Resolves when the steps under way are done. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const end of this.#pauses) end()
    await Promise.all(this.#loops)
  }
}

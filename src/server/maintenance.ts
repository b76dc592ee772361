/** Runs the workers of a store, each at its own pace, until told to stop. */

import type { ClockState } from '../store/objects/lock-clock.ts'
import type { Store } from '../store/store.ts'
import { labelled, type Sample } from '../telemetry/families.ts'
import { ClockCheckpointer } from '../workers/clock-checkpointer.ts'
import { Compactor } from '../workers/compact.ts'
import { CompletedUploadExpiry } from '../workers/completed-upload-expiry.ts'
import { UsageCounter } from '../workers/count-usage.ts'
import { BucketIndexer } from '../workers/index-buckets.ts'
import { Lifecycle } from '../workers/lifecycle.ts'
import { Reclaimer } from '../workers/reclaim.ts'
import { Sweeper } from '../workers/sweep.ts'
import type { ServerParts } from './compose.ts'
import { isFatal, type Log } from './log.ts'
import type { MaintenanceTask } from './maintenance-task.ts'

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

/** What a store needs to have done while it serves. */
export const maintenanceTasks = ({ context, completion }: Store, tell: Log): readonly MaintenanceTask[] => [
  { name: 'clock', worker: new ClockCheckpointer(context, state => tell.log(jumpLine(state))), pauseMs: MARK_CLOCK_MS },
  { name: 'reclaim', worker: new Reclaimer(context), pauseMs: RECLAIM_MS },
  { name: 'compact', worker: new Compactor(context), pauseMs: COMPACT_MS },
  { name: 'forget', worker: new CompletedUploadExpiry(context, completion), pauseMs: FORGET_MS },
  expiringOf(context, tell),
  { name: 'index-buckets', worker: new BucketIndexer(context), pauseMs: FORGET_MS },
]

const transitionsLine = (bucket: string): Readonly<Record<string, unknown>> => ({
  level: 'warn',
  bucket,
  lifecycle: 'The lifecycle rules of the bucket have transitions. There is one tier of storage: nothing is moved.',
})

function expiringOf(context: Store['context'], tell: Log): MaintenanceTask {
  const worker = new Lifecycle(context, bucket => tell.log(transitionsLine(bucket)))
  const action = (name: 'removed' | 'marked' | 'aborted'): Sample => [
    'holdfast_lifecycle_actions_total',
    labelled({ action: name }),
    worker[name],
  ]
  return {
    name: 'lifecycle',
    worker,
    pauseMs: LIFECYCLE_MS,
    samples: () => [
      action('removed'),
      action('marked'),
      action('aborted'),
      ['holdfast_lifecycle_locked', '', worker.locked],
    ],
  }
}

/** Of what buckets hold: at the start, and now and then since processes come and go. */
export function usageTask({ store, snapshot }: Pick<ServerParts, 'store' | 'snapshot'>): MaintenanceTask {
  return { name: 'usage', worker: new UsageCounter(store.context, snapshot), pauseMs: FORGET_MS }
}

/** Of bytes that never got a name: at the start, once a day, and when a process has died with its hands full. */
export function sweepTask(store: Store): MaintenanceTask {
  const worker = new Sweeper(store.context)
  return { name: 'sweep', worker, pauseMs: SWEEP_MS, isWaiting: () => worker.isWaiting }
}

/** What has been done of a chore since the start. */
interface Done {
  steps: number
  failures: number
  seconds: number
  lastSuccess: number
}

export class Maintenance {
  readonly #tell: Log
  readonly #loops: Promise<void>[]
  /** Ends the pauses under way. */
  readonly #pauses = new Map<MaintenanceTask, () => void>()
  /** For these the next pause is left out. */
  readonly #woken = new Set<MaintenanceTask>()
  readonly #done: ReadonlyMap<MaintenanceTask, Done>
  #stopped = false

  constructor(chores: readonly MaintenanceTask[], tell: Log) {
    this.#tell = tell
    this.#done = new Map(chores.map(chore => [chore, { steps: 0, failures: 0, seconds: 0, lastSuccess: 0 }]))
    this.#loops = chores.map(chore => this.#run(chore))
  }

  /** A step that fails is told and tried again later. */
  async #run(chore: MaintenanceTask): Promise<void> {
    while (!this.#stopped) {
      this.#woken.delete(chore)
      await this.#work(chore).catch((error: unknown) => {
        this.#done.get(chore)!.failures++
        this.#tell.log({ level: 'error', upkeep: String(error) })
        if (isFatal(error)) this.#tell.end()
      })
      if (!this.#stopped && !this.#woken.has(chore)) await this.#pause(chore)
    }
  }

  /** However much there is to do: a walk through millions of records is left between two steps. */
  async #work(chore: MaintenanceTask): Promise<void> {
    const done = this.#done.get(chore)!
    let isBusy = true
    while (!this.#stopped && isBusy) {
      const since = performance.now()
      done.steps++
      try {
        isBusy = (await chore.worker.step()) === 'busy'
      } finally {
        done.seconds += (performance.now() - since) / 1000
      }
    }
    if (!isBusy) done.lastSuccess = Date.now() / 1000
  }

  samples(): Sample[] {
    return [...this.#done].flatMap(([{ name, samples }, done]): Sample[] => {
      const worker = labelled({ worker: name })
      return [
        ['holdfast_upkeep_steps_total', worker, done.steps],
        ['holdfast_upkeep_failures_total', worker, done.failures],
        ['holdfast_upkeep_seconds_total', worker, done.seconds],
        ['holdfast_upkeep_last_success_timestamp_seconds', worker, done.lastSuccess],
        ...(samples?.() ?? []),
      ]
    })
  }

  #pause(chore: MaintenanceTask): Promise<void> {
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
  wake(chore: MaintenanceTask): void {
    this.#woken.add(chore)
    this.#pauses.get(chore)?.()
  }

  /** Resolves when the steps under way are done. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const end of this.#pauses.values()) end()
    await Promise.all(this.#loops)
    for (const { end } of this.#done.keys()) await end?.()
  }
}

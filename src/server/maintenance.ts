/** Runs the background tasks of a store, each at its own interval, until stopped. */

import { ClockCheckpointer } from '../maintenance/clock-checkpointer.ts'
import { Compactor } from '../maintenance/compact.ts'
import { COMPACT_MS, CompactionSchedule } from '../maintenance/compaction-schedule.ts'
import { CompletedUploadExpiry } from '../maintenance/completed-upload-expiry.ts'
import { UsageCounter } from '../maintenance/count-usage.ts'
import { BucketIndexer } from '../maintenance/index-buckets.ts'
import { Lifecycle } from '../maintenance/lifecycle.ts'
import { BlobMover } from '../maintenance/move-blobs.ts'
import { Reclaimer } from '../maintenance/reclaim.ts'
import { Sweeper } from '../maintenance/sweep.ts'
import type { ClockState } from '../store/objects/lock-clock.ts'
import type { Store } from '../store/store.ts'
import { labelled, type Sample } from '../telemetry/families.ts'
import type { ServerParts } from './compose.ts'
import { isFatal, type Logger } from './log.ts'
import type { MaintenanceTask } from './maintenance-task.ts'

const RECLAIM_MS = 1_000
const MOVE_MS = 10_000
const FORGET_MS = 3_600_000
const SWEEP_MS = 24 * 3_600_000
/** How often a task in its pause is asked whether it is due. */
const DUE_MS = 1_000
const LIFECYCLE_MS = 3_600_000
const MARK_CLOCK_MS = 60_000

const jumpLine = ({ clock, lockTime }: ClockState): Readonly<Record<string, unknown>> => ({
  level: 'warn',
  clock: `The clock says ${new Date(clock).toISOString()}, more than a day ahead of the time this store has recorded. \
No lock ends by it: locks use ${new Date(lockTime).toISOString()} until an operator confirms the clock. \
Lifecycle rules do so for a day.`,
})

/** The tasks that every store needs while it serves. */
export const maintenanceTasks = ({ context, completion }: Store, logger: Logger): readonly MaintenanceTask[] => [
  {
    name: 'clock',
    worker: new ClockCheckpointer(context, state => logger.log(jumpLine(state))),
    pauseMs: MARK_CLOCK_MS,
  },
  ...reclaimTasks(context),
  { name: 'forget', worker: new CompletedUploadExpiry(context, completion), pauseMs: FORGET_MS },
  ...moveTask(context),
  lifecycleTask(context, logger),
  { name: 'index-buckets', worker: new BucketIndexer(context), pauseMs: FORGET_MS },
]

function reclaimTasks(context: Store['context']): readonly MaintenanceTask[] {
  const reclaimer = new Reclaimer(context)
  const schedule = new CompactionSchedule(new Compactor(context), reclaimer, context.clock)
  return [
    { name: 'reclaim', worker: reclaimer, pauseMs: RECLAIM_MS },
    { name: 'compact', worker: schedule, pauseMs: COMPACT_MS, isDue: () => schedule.isDue() },
  ]
}

/** Present while blobs move to another place. */
function moveTask(context: Store['context']): readonly MaintenanceTask[] {
  const { moving } = context.blobs
  if (moving === undefined) return []
  const worker = new BlobMover(context, moving)
  return [
    {
      name: 'move',
      worker,
      pauseMs: MOVE_MS,
      isDue: () => worker.isWaiting,
      samples: () => [
        ['holdfast_blobs_moved_total', '', worker.copied.blobs],
        ['holdfast_blobs_moved_bytes_total', '', worker.copied.bytes],
        ['holdfast_blobs_move_damaged', '', worker.damaged],
      ],
    },
  ]
}

const transitionsLine = (bucket: string): Readonly<Record<string, unknown>> => ({
  level: 'warn',
  bucket,
  lifecycle: 'The lifecycle rules of the bucket have transitions, which are ignored: there is only one storage tier.',
})

function lifecycleTask(context: Store['context'], logger: Logger): MaintenanceTask {
  const worker = new Lifecycle(context, bucket => logger.log(transitionsLine(bucket)))
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

/** Counts the usage of buckets: at the start, and periodically since processes come and go. */
export function usageTask({ store, snapshot }: Pick<ServerParts, 'store' | 'snapshot'>): MaintenanceTask {
  return { name: 'usage', worker: new UsageCounter(store.context, snapshot), pauseMs: FORGET_MS }
}

/** Frees blobs that never got a name: at the start, once a day, and after a worker has died. */
export function sweepTask(store: Store): MaintenanceTask {
  const worker = new Sweeper(store.context)
  return { name: 'sweep', worker, pauseMs: SWEEP_MS, isDue: () => worker.isWaiting }
}

/** Progress of a task since the start. */
interface TaskProgress {
  steps: number
  failures: number
  seconds: number
  lastSuccess: number
}

export class Maintenance {
  readonly #logger: Logger
  readonly #loops: Promise<void>[]
  /** Ends the current pauses. */
  readonly #pauses = new Map<MaintenanceTask, () => void>()
  /** Tasks whose next pause is skipped. */
  readonly #woken = new Set<MaintenanceTask>()
  readonly #progress: ReadonlyMap<MaintenanceTask, TaskProgress>
  #stopped = false

  constructor(tasks: readonly MaintenanceTask[], logger: Logger) {
    this.#logger = logger
    this.#progress = new Map(tasks.map(task => [task, { steps: 0, failures: 0, seconds: 0, lastSuccess: 0 }]))
    this.#loops = tasks.map(task => this.#run(task))
  }

  /** A failed step is logged and retried later. */
  async #run(task: MaintenanceTask): Promise<void> {
    while (!this.#stopped) {
      this.#woken.delete(task)
      await this.#work(task).catch((error: unknown) => {
        this.#progress.get(task)!.failures++
        this.#logger.log({ level: 'error', maintenance: String(error) })
        if (isFatal(error)) this.#logger.abort()
      })
      if (!this.#stopped && !this.#woken.has(task)) await this.#pause(task)
    }
  }

  /** Runs steps until the task is idle, but can be stopped between two steps. */
  async #work(task: MaintenanceTask): Promise<void> {
    const done = this.#progress.get(task)!
    let isBusy = true
    while (!this.#stopped && isBusy) {
      const since = performance.now()
      done.steps++
      try {
        isBusy = (await task.worker.step()) === 'busy'
      } finally {
        done.seconds += (performance.now() - since) / 1000
      }
    }
    if (!isBusy) done.lastSuccess = Date.now() / 1000
  }

  samples(): Sample[] {
    return [...this.#progress].flatMap(([{ name, samples }, done]): Sample[] => {
      const worker = labelled({ worker: name })
      return [
        ['holdfast_maintenance_steps_total', worker, done.steps],
        ['holdfast_maintenance_failures_total', worker, done.failures],
        ['holdfast_maintenance_seconds_total', worker, done.seconds],
        ['holdfast_maintenance_last_success_timestamp_seconds', worker, done.lastSuccess],
        ...(samples?.() ?? []),
      ]
    })
  }

  #pause(task: MaintenanceTask): Promise<void> {
    const { isDue, pauseMs } = task
    return new Promise(resolve => {
      let timer: NodeJS.Timeout
      const end = (): void => {
        clearTimeout(timer)
        this.#pauses.delete(task)
        resolve()
      }
      const pause = (left: number): void => {
        const slice = isDue === undefined ? left : Math.min(left, DUE_MS)
        timer = setTimeout(() => (slice === left || isDue?.() === true ? end() : pause(left - slice)), slice)
      }
      pause(pauseMs)
      this.#pauses.set(task, end)
    })
  }

  /** Runs the task without waiting for its interval. */
  wake(task: MaintenanceTask): void {
    this.#woken.add(task)
    this.#pauses.get(task)?.()
  }

  /** Resolves when the current steps are done. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const end of this.#pauses.values()) end()
    await Promise.all(this.#loops)
    for (const { end } of this.#progress.keys()) await end?.()
  }
}

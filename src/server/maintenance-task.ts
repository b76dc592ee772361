import type { Sample } from '../telemetry/families.ts'
import type { Worker } from '../workers/worker.ts'

/** A worker, and how long it rests when it has nothing to do. */
export interface MaintenanceTask {
  readonly name: string
  readonly worker: Worker
  readonly pauseMs: number
  /** True when it only waits for others and shall be asked again soon. */
  readonly isWaiting?: () => boolean
  /** What it has to tell besides how often and how long. */
  readonly samples?: () => readonly Sample[]
  /** When no step is taken any more: lets go of what it holds between two steps. */
  readonly end?: () => Promise<void>
}

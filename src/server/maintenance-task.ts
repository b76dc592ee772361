import type { MaintenanceStep } from '../maintenance/maintenance-step.ts'
import type { Sample } from '../telemetry/families.ts'

/** A worker and its interval. */
export interface MaintenanceTask {
  readonly name: string
  readonly worker: MaintenanceStep
  readonly pauseMs: number
  /** Asked every second of a pause: true when it should run before the pause is over. */
  readonly isDue?: () => boolean
  /** Further samples besides steps and durations. */
  readonly samples?: () => readonly Sample[]
  /** Releases the resources it keeps between steps, after the last one. */
  readonly end?: () => Promise<void>
}

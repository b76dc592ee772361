/**
 * A worker runs in bounded steps driven by its caller: it has no timers and no loop of its own, so tests call `step`.
 */
export interface MaintenanceStep {
  /** `busy`: more work is ready. `idle`: nothing to do, or the rest must wait. */
  step(): Promise<'busy' | 'idle'>
}

/** Runs a worker until it is idle, for at most `max` steps. */
export async function runUntilIdle(worker: MaintenanceStep, max = 100_000): Promise<void> {
  for (let i = 0; i < max; i++) if ((await worker.step()) === 'idle') return
  throw new Error(`still busy after ${max} steps`)
}

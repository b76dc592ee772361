/** A worker is one bounded step, run by someone else: it has no timers and no loop of its own, so tests call `step`. */
export interface Worker {
  /** `busy`: there is more to do now. `idle`: nothing to do, or what there is must wait. */
  step(): Promise<'busy' | 'idle'>
}

/** Runs a worker until it has nothing left, at most `max` steps. */
export async function runUntilIdle(worker: Worker, max = 100_000): Promise<void> {
  for (let i = 0; i < max; i++) if ((await worker.step()) === 'idle') return
  throw new Error(`still busy after ${max} steps`)
}

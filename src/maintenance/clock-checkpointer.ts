/** P19. Stores how far time has advanced, and reports when the wall clock has jumped ahead of it. */

import type { ClockState } from '../store/objects/lock-clock.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { MaintenanceStep } from './maintenance-step.ts'

export class ClockCheckpointer implements MaintenanceStep {
  readonly #context: StoreContext
  readonly #onJump: (state: ClockState) => void
  #isReported = false

  constructor(context: StoreContext, onJump: (state: ClockState) => void) {
    this.#context = context
    this.#onJump = onJump
  }

  async step(): Promise<'idle'> {
    const { lockClock } = this.#context
    await lockClock.mark()
    const state = await lockClock.state()
    // Reported once per jump: a log line per minute would be ignored.
    if (state.jumped && !this.#isReported) this.#onJump(state)
    this.#isReported = state.jumped
    return 'idle'
  }
}

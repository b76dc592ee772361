/** P19. Writes down how far time has got, and says so when the clock has jumped ahead of that. */

import type { ClockState } from '../store/objects/lock-clock.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { Worker } from './worker.ts'

export class ClockCheckpointer implements Worker {
  readonly #context: StoreContext
  readonly #onJump: (state: ClockState) => void
  #told = false

  constructor(context: StoreContext, onJump: (state: ClockState) => void) {
    this.#context = context
    this.#onJump = onJump
  }

  async step(): Promise<'idle'> {
    const { lockClock } = this.#context
    await lockClock.mark()
    const state = await lockClock.state()
    // Once for each jump: a line a minute would be read by nobody.
    if (state.jumped && !this.#told) this.#onJump(state)
    this.#told = state.jumped
    return 'idle'
  }
}

/** P19. Writes down how far time has got, and says so when the clock has jumped ahead of that. */
import type { Engine } from '../store/engine.ts'
import type { ClockState } from '../store/lock-clock.ts'
import type { Worker } from './worker.ts'

export class ClockMarker implements Worker {
  readonly #engine: Engine
  readonly #onJump: (state: ClockState) => void
  #told = false

  constructor(engine: Engine, onJump: (state: ClockState) => void) {
    this.#engine = engine
    this.#onJump = onJump
  }

  async step(): Promise<'idle'> {
    const { lockClock } = this.#engine
    await lockClock.mark()
    const state = await lockClock.state()
    // Once for each jump: a line a minute would be read by nobody.
    if (state.jumped && !this.#told) this.#onJump(state)
    this.#told = state.jumped
    return 'idle'
  }
}

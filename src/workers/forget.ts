/** Forgets what completed uploads became, once no client can still be waiting for the answer (R96). */
import type { Completion } from '../store/completion.ts'
import type { Engine } from '../store/engine.ts'
import type { Worker } from './worker.ts'

const REMEMBERED_MS = 24 * 3_600_000

export class Forgetter implements Worker {
  readonly #engine: Engine
  readonly #completion: Completion
  #cursor: Buffer | undefined

  constructor(engine: Engine, completion: Completion) {
    this.#engine = engine
    this.#completion = completion
  }

  async step(): Promise<'busy' | 'idle'> {
    this.#cursor = await this.#completion.forget(this.#engine.clock.now() - REMEMBERED_MS, this.#cursor)
    return this.#cursor === undefined ? 'idle' : 'busy'
  }
}

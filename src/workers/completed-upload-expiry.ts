/** Forgets what completed uploads became, once no client can still be waiting for the answer (R96). */

import type { StoreContext } from '../store/store-context.ts'
import type { Completion } from '../store/uploads/completion.ts'
import type { Worker } from './worker.ts'

const REMEMBERED_MS = 24 * 3_600_000

export class CompletedUploadExpiry implements Worker {
  readonly #context: StoreContext
  readonly #completion: Completion
  #cursor: Buffer | undefined

  constructor(context: StoreContext, completion: Completion) {
    this.#context = context
    this.#completion = completion
  }

  async step(): Promise<'busy' | 'idle'> {
    this.#cursor = await this.#completion.forget(this.#context.clock.now() - REMEMBERED_MS, this.#cursor)
    return this.#cursor === undefined ? 'idle' : 'busy'
  }
}

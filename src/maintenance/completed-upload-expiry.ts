/** Removes the results of completed uploads once no client can be waiting for one (R96). */

import type { StoreContext } from '../store/store-context.ts'
import type { Completion } from '../store/uploads/completion.ts'
import type { MaintenanceStep } from './maintenance-step.ts'

const KEPT_MS = 24 * 3_600_000

export class CompletedUploadExpiry implements MaintenanceStep {
  readonly #context: StoreContext
  readonly #completion: Completion
  #cursor: Buffer | undefined

  constructor(context: StoreContext, completion: Completion) {
    this.#context = context
    this.#completion = completion
  }

  async step(): Promise<'busy' | 'idle'> {
    this.#cursor = await this.#completion.forget(this.#context.clock.now() - KEPT_MS, this.#cursor)
    return this.#cursor === undefined ? 'idle' : 'busy'
  }
}

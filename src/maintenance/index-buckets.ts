/** Builds the index of buckets by owner in folders older than it; then there is nothing left to do. */

import { indexSomeBuckets, isIndexed } from '../store/buckets/bucket-owner-index.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { MaintenanceStep } from './maintenance-step.ts'

export class BucketIndexer implements MaintenanceStep {
  readonly #context: StoreContext
  #next: Buffer | undefined

  constructor(context: StoreContext) {
    this.#context = context
  }

  async step(): Promise<'busy' | 'idle'> {
    if (await isIndexed(this.#context)) return 'idle'
    this.#next = await indexSomeBuckets(this.#context, this.#next)
    return this.#next === undefined ? 'idle' : 'busy'
  }
}

/** Gives a folder the index of buckets by owner that it had not from the start; afterwards there is nothing to do. */
import type { Engine } from '../store/engine.ts'
import { isIndexed, noteSome } from '../store/owned-buckets.ts'
import type { Worker } from './worker.ts'

export class BucketIndexer implements Worker {
  readonly #engine: Engine
  #next: Buffer | undefined

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async step(): Promise<'busy' | 'idle'> {
    if (await isIndexed(this.#engine)) return 'idle'
    this.#next = await noteSome(this.#engine, this.#next)
    return this.#next === undefined ? 'idle' : 'busy'
  }
}

/** Frees what nothing names any more, once every reader that might still hold it has left. */

import { justAfter } from '../lib/bytes.ts'
import type { Entry } from '../meta/meta.ts'
import { garbageFormat } from '../model/garbage.ts'
import { all } from '../store/addresses.ts'
import type { Engine } from '../store/engine.ts'
import { release } from '../store/release.ts'
import type { Worker } from './worker.ts'

const BATCH = 256

export class Reclaimer implements Worker {
  readonly #engine: Engine
  #batch: readonly Entry[] = []
  /** Everybody who entered before the batch was read may have seen what it holds. */
  #line = 0
  #cursor = all.kind('g').start

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async step(): Promise<'busy' | 'idle'> {
    if (this.#batch.length === 0 && !(await this.#collect())) return 'idle'
    if (!this.#engine.readers.passed(this.#line)) return 'idle'
    const batch = this.#batch
    this.#batch = []
    for (const entry of batch) if (!this.#isDraft(entry)) await release(this.#engine, entry)
    return 'busy'
  }

  /** Reads the next garbage; at the end of a round the next one starts from the beginning. */
  async #collect(): Promise<boolean> {
    const { start, end } = all.kind('g')
    this.#batch = await this.#engine.meta.scan({ start: this.#cursor, end }, BATCH)
    this.#line = this.#engine.readers.line()
    const last = this.#batch.at(-1)
    this.#cursor = last === undefined ? start : justAfter(last.key)
    return last !== undefined
  }

  /** Pages written ahead of a commit that is still under way are not garbage yet. */
  #isDraft(entry: Entry): boolean {
    const garbage = garbageFormat.decode(entry.value)
    return garbage.kind === 'pages' && !garbage.held && this.#engine.drafts.has(garbage.id.toString('hex'))
  }
}

/** Frees what nothing names any more, once every reader that might still hold it has left. */

import { keySuccessor } from '../lib/bytes.ts'
import { type Entry, OutcomeUnknown } from '../meta/meta.ts'
import { OwnershipLost } from '../store/commit/fenced-meta.ts'
import { keyRanges } from '../store/commit/record-keys.ts'
import type { Epoch } from '../store/reclaim/reclamation-barrier.ts'
import { releaseGarbage } from '../store/reclaim/release-garbage.ts'
import type { StoreContext } from '../store/store-context.ts'
import { readPage } from './records.ts'
import type { Worker } from './worker.ts'

const BATCH = 256

export class Reclaimer implements Worker {
  readonly #context: StoreContext
  #batch: readonly Entry[] = []
  /** Everybody who was inside when the batch had been read may have seen what it holds, or be about to name it. */
  #line: Epoch | undefined
  #cursor = keyRanges.kind('g').start
  #freedAny = false
  /** What could not be freed, and why the last time. */
  failures = 0
  lastFailure: unknown

  constructor(context: StoreContext) {
    this.#context = context
  }

  async step(): Promise<'busy' | 'idle'> {
    if (this.#batch.length === 0 && this.#context.reclamationLock.isHeld) return 'idle'
    if (this.#batch.length === 0 && !(await this.#collect())) return this.#endRound()
    if (this.#line?.hasPassed() === false) return 'idle'
    const freed = await this.#context.reclamationLock.free(async () => {
      const batch = this.#batch
      this.#batch = []
      for (const entry of batch) await this.#release(entry)
    })
    return freed ? 'busy' : 'idle'
  }

  /** Reads the next garbage; at the end of a round the next one starts from the beginning. */
  async #collect(): Promise<boolean> {
    const { start, end } = keyRanges.kind('g')
    const page = await readPage(this.#context, { start: this.#cursor, end }, BATCH)
    if (page.damaged !== undefined) this.#note(page.damaged)
    this.#batch = page.entries
    this.#line = this.#batch.length === 0 ? undefined : this.#context.reclamation.epoch('readers')
    // After a short page the round goes on behind it: only an empty one ends it, or what cannot be freed would be met
    // again and again.
    const last = page.entries.at(-1)
    this.#cursor = page.next ?? (last === undefined ? start : keySuccessor(last.key))
    return page.entries.length > 0 || page.next !== undefined
  }

  /** Freeing may leave new garbage behind the cursor, so a round that freed anything is followed by another. */
  #endRound(): 'busy' | 'idle' {
    const again = this.#freedAny
    this.#freedAny = false
    return again ? 'busy' : 'idle'
  }

  /** One that cannot be freed is noted and stays; the others do not wait for it. */
  async #release(entry: Entry): Promise<void> {
    try {
      await releaseGarbage(this.#context, entry)
      this.#freedAny = true
    } catch (error) {
      if (error instanceof OutcomeUnknown || error instanceof OwnershipLost) throw error
      this.#note(error)
    }
  }

  #note(error: unknown): void {
    this.failures++
    this.lastFailure = error
  }
}

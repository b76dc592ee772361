/** Frees garbage once every reader that might still use it has left. */

import { keySuccessor } from '../lib/bytes.ts'
import { type Entry, OutcomeUnknown } from '../meta/meta.ts'
import { OwnershipLost } from '../store/commit/fenced-meta.ts'
import { keyRanges } from '../store/commit/record-keys.ts'
import type { Epoch } from '../store/reclaim/reclamation-barrier.ts'
import { releaseGarbage } from '../store/reclaim/release-garbage.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { MaintenanceStep } from './maintenance-step.ts'
import { readPage } from './records.ts'

const BATCH = 256

export class Reclaimer implements MaintenanceStep {
  readonly #context: StoreContext
  #batch: readonly Entry[] = []
  /** Readers active when the batch was read may have seen what it references, or be about to name it. */
  #epoch: Epoch | undefined
  #cursor = keyRanges.kind('g').start
  #freedAny = false
  /** Garbage that could not be freed, and the reason of the last failure. */
  failures = 0
  lastFailure: unknown

  constructor(context: StoreContext) {
    this.#context = context
  }

  async step(): Promise<'busy' | 'idle'> {
    if (this.#batch.length === 0 && this.#context.reclamationLock.isHeld) return 'idle'
    if (this.#batch.length === 0 && !(await this.#collect())) return this.#endRound()
    if (this.#epoch?.hasPassed() === false) return 'idle'
    const freed = await this.#context.reclamationLock.free(async () => {
      const batch = this.#batch
      this.#batch = []
      for (const entry of batch) await this.#release(entry)
    })
    return freed ? 'busy' : 'idle'
  }

  /** Reads the next batch; after the end of a round the next one starts over. */
  async #collect(): Promise<boolean> {
    const { start, end } = keyRanges.kind('g')
    const page = await readPage(this.#context, { start: this.#cursor, end }, BATCH)
    if (page.damaged !== undefined) this.#recordFailure(page.damaged)
    this.#batch = page.entries
    this.#epoch = this.#batch.length === 0 ? undefined : this.#context.reclamation.epoch('readers')
    // After a short page the round continues behind it: only an empty page ends it. Otherwise garbage that cannot be
    // freed would be read again and again.
    const last = page.entries.at(-1)
    this.#cursor = page.next ?? (last === undefined ? start : keySuccessor(last.key))
    return page.entries.length > 0 || page.next !== undefined
  }

  /** Releasing may add garbage before the cursor, so a round that freed anything is followed by another. */
  #endRound(): 'busy' | 'idle' {
    const again = this.#freedAny
    this.#freedAny = false
    return again ? 'busy' : 'idle'
  }

  /** A failed release is recorded and retried in the next round; others do not wait for it. */
  async #release(entry: Entry): Promise<void> {
    try {
      await releaseGarbage(this.#context, entry)
      this.#freedAny = true
    } catch (error) {
      if (error instanceof OutcomeUnknown || error instanceof OwnershipLost) throw error
      this.#recordFailure(error)
    }
  }

  #recordFailure(error: unknown): void {
    this.failures++
    this.lastFailure = error
  }
}

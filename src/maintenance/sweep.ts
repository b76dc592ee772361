/**
 * Frees files whose bytes were never named, or lost their record just before a crash. Packed blobs are reclaimed by
 * compaction.
 */
import { recordKey } from '../store/commit/record-keys.ts'
import type { Epoch } from '../store/reclaim/reclamation-barrier.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { MaintenanceStep } from './maintenance-step.ts'

const BATCH = 256

export class Sweeper implements MaintenanceStep {
  readonly #context: StoreContext
  #walk: AsyncIterator<Buffer> | undefined
  /** Files without a record. */
  #orphans: readonly Buffer[] = []
  /** Writers active when the files were found may be about to name one. */
  #epoch: Epoch | undefined
  removed = 0

  constructor(context: StoreContext) {
    this.#context = context
  }

  async step(): Promise<'busy' | 'idle'> {
    if (this.#context.reclamationLock.isHeld) return 'idle'
    if (this.#orphans.length === 0 && !(await this.#collect())) return 'idle'
    if (this.#epoch?.hasPassed() === false) return 'idle'
    const orphans = this.#orphans
    this.#orphans = []
    // A writer that has left has named or removed its file; files still without a record are orphans.
    for (const id of orphans) if (await this.#isOrphan(id)) await this.#remove(id)
    return this.#walk === undefined ? 'idle' : 'busy'
  }

  /** True while it waits for writers or a backup, so that it should run again soon. */
  get isWaiting(): boolean {
    return this.#orphans.length > 0 || this.#context.reclamationLock.isHeld
  }

  /** Checks the next files; false at the end of a round. */
  async #collect(): Promise<boolean> {
    this.#walk ??= this.#context.blobs.solos()[Symbol.asyncIterator]()
    const orphans: Buffer[] = []
    let more = true
    for (let i = 0; more && i < BATCH; i++) {
      const found = await this.#walk.next()
      if (found.done === true) more = false
      else if (await this.#isOrphan(found.value)) orphans.push(found.value)
    }
    if (!more) this.#walk = undefined
    this.#orphans = orphans
    this.#epoch = orphans.length === 0 ? undefined : this.#context.reclamation.epoch('drafts')
    return more || orphans.length > 0
  }

  async #isOrphan(id: Buffer): Promise<boolean> {
    return (await this.#context.meta.get(recordKey.blob(id))) === undefined
  }

  async #remove(id: Buffer): Promise<void> {
    await this.#context.blobs.remove(id, { volume: undefined, offset: 0, length: 0, frameBytes: 0 })
    this.removed++
  }
}

/** Frees files whose bytes never got a name, or lost it just before a crash. Packed ones come back by compaction. */
import { recordKey } from '../store/commit/record-keys.ts'
import type { Epoch } from '../store/reclaim/reclamation-barrier.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { Worker } from './worker.ts'

const BATCH = 256

export class Sweeper implements Worker {
  readonly #context: StoreContext
  #walk: AsyncIterator<Buffer> | undefined
  /** Files that no record names. */
  #nameless: readonly Buffer[] = []
  /** Everybody who was writing when they were found may be about to name one. */
  #line: Epoch | undefined
  removed = 0

  constructor(context: StoreContext) {
    this.#context = context
  }

  async step(): Promise<'busy' | 'idle'> {
    if (this.#context.reclamationLock.isHeld) return 'idle'
    if (this.#nameless.length === 0 && !(await this.#collect())) return 'idle'
    if (this.#line?.hasPassed() === false) return 'idle'
    const nameless = this.#nameless
    this.#nameless = []
    // A writer that has left has named its file or removed it; what is left is nobody's.
    for (const id of nameless) if (await this.#isNameless(id)) await this.#remove(id)
    return this.#walk === undefined ? 'idle' : 'busy'
  }

  /** True while it waits for others: then there is more to do soon, and not only in the next round. */
  get isWaiting(): boolean {
    return this.#nameless.length > 0 || this.#context.reclamationLock.isHeld
  }

  /** Looks at the next files; false at the end of a round. */
  async #collect(): Promise<boolean> {
    this.#walk ??= this.#context.blobs.solos()[Symbol.asyncIterator]()
    const nameless: Buffer[] = []
    let more = true
    for (let i = 0; more && i < BATCH; i++) {
      const found = await this.#walk.next()
      if (found.done === true) more = false
      else if (await this.#isNameless(found.value)) nameless.push(found.value)
    }
    if (!more) this.#walk = undefined
    this.#nameless = nameless
    this.#line = nameless.length === 0 ? undefined : this.#context.reclamation.epoch('drafts')
    return more || nameless.length > 0
  }

  async #isNameless(id: Buffer): Promise<boolean> {
    return (await this.#context.meta.get(recordKey.blob(id))) === undefined
  }

  async #remove(id: Buffer): Promise<void> {
    await this.#context.blobs.remove(id, { volume: undefined, offset: 0, length: 0, frameBytes: 0 })
    this.removed++
  }
}

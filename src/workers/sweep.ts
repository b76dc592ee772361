/** Frees files whose bytes never got a name, or lost it just before a crash. Packed ones come back by compaction. */
import { at } from '../store/addresses.ts'
import type { Line } from '../store/company.ts'
import type { Engine } from '../store/engine.ts'
import type { Worker } from './worker.ts'

const BATCH = 256

export class Sweeper implements Worker {
  readonly #engine: Engine
  #walk: AsyncIterator<Buffer> | undefined
  /** Files that no record names. */
  #nameless: readonly Buffer[] = []
  /** Everybody who was writing when they were found may be about to name one. */
  #line: Line | undefined
  removed = 0

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async step(): Promise<'busy' | 'idle'> {
    if (this.#engine.freeing.isHeld) return 'idle'
    if (this.#nameless.length === 0 && !(await this.#collect())) return 'idle'
    if (this.#line?.passed() === false) return 'idle'
    const nameless = this.#nameless
    this.#nameless = []
    // A writer that has left has named its file or removed it; what is left is nobody's.
    for (const id of nameless) if (await this.#isNameless(id)) await this.#remove(id)
    return this.#walk === undefined ? 'idle' : 'busy'
  }

  /** True while it waits for others: then there is more to do soon, and not only in the next round. */
  get isWaiting(): boolean {
    return this.#nameless.length > 0 || this.#engine.freeing.isHeld
  }

  /** Looks at the next files; false at the end of a round. */
  async #collect(): Promise<boolean> {
    this.#walk ??= this.#engine.blobs.solos()[Symbol.asyncIterator]()
    const nameless: Buffer[] = []
    let more = true
    for (let i = 0; more && i < BATCH; i++) {
      const found = await this.#walk.next()
      if (found.done === true) more = false
      else if (await this.#isNameless(found.value)) nameless.push(found.value)
    }
    if (!more) this.#walk = undefined
    this.#nameless = nameless
    this.#line = nameless.length === 0 ? undefined : this.#engine.company.line('drafts')
    return more || nameless.length > 0
  }

  async #isNameless(id: Buffer): Promise<boolean> {
    return (await this.#engine.meta.get(at.blob(id))) === undefined
  }

  async #remove(id: Buffer): Promise<void> {
    await this.#engine.blobs.remove(id, { volume: undefined, offset: 0, length: 0, frameBytes: 0 })
    this.removed++
  }
}

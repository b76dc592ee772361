/** Frees files whose bytes never got a name, or lost it just before a crash. Packed ones come back by compaction. */
import { at } from '../store/addresses.ts'
import type { Engine } from '../store/engine.ts'
import type { Worker } from './worker.ts'

const BATCH = 256

export class Sweeper implements Worker {
  readonly #engine: Engine
  #walk: AsyncIterator<Buffer> | undefined
  removed = 0

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async step(): Promise<'busy' | 'idle'> {
    this.#walk ??= this.#engine.blobs.solos()[Symbol.asyncIterator]()
    for (let i = 0; i < BATCH; i++) {
      const found = await this.#walk.next()
      if (found.done === true) {
        this.#walk = undefined
        return 'idle'
      }
      await this.#consider(found.value)
    }
    return 'busy'
  }

  /** Draft first, record second: a draft leaves the list only after its record is there or its file is gone. */
  async #consider(id: Buffer): Promise<void> {
    const { blobs, drafts, meta } = this.#engine
    if (drafts.has(id.toString('hex'))) return
    if ((await meta.get(at.blob(id))) !== undefined) return
    await blobs.remove(id, { volume: undefined, offset: 0, length: 0, frameBytes: 0 })
    this.removed++
  }
}

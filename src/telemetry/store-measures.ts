/** What a store holds, as far as it is cheap to know. Only the owner of a folder says it: its workers see the same. */
import { all } from '../store/addresses.ts'
import type { Engine } from '../store/engine.ts'
import { unguarded } from '../store/loss-guard.ts'
import type { Sample } from './families.ts'

const GARBAGE_COUNTED_MAX = 1000
/** Looking at volumes opens each of them. */
const VOLUMES_MS = 60_000

export class StoreMeasures {
  readonly #engine: Engine
  #volumes: readonly Sample[] = []
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async samples(): Promise<Sample[]> {
    const { meta } = unguarded(this.#engine)
    const garbage = await meta.scan(all.kind('g'), GARBAGE_COUNTED_MAX)
    const figures = await meta.figures?.()
    return [
      ['holdfast_garbage_records', '', garbage.length],
      ...(figures === undefined
        ? []
        : ([
            ['holdfast_meta_map_bytes', '', figures.mapBytes],
            ['holdfast_meta_used_bytes', '', figures.usedBytes],
            ['holdfast_meta_entries', '', figures.entries],
            ['holdfast_meta_readers', '', figures.readers],
          ] as const)),
      ...(await this.#volumeSamples()),
    ]
  }

  async #volumeSamples(): Promise<readonly Sample[]> {
    const { blobs, clock } = this.#engine
    if (clock.elapsed() - this.#lookedAt < VOLUMES_MS) return this.#volumes
    this.#lookedAt = clock.elapsed()
    const volumes = await blobs.volumes()
    const bytes = volumes.reduce((sum, volume) => sum + volume.bytes, 0)
    this.#volumes = [
      ['holdfast_volumes', '', volumes.length],
      ['holdfast_volume_bytes', '', bytes],
    ]
    return this.#volumes
  }
}

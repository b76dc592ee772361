/**
 * Metrics of a store that are cheap to collect. Only the folder's owner reports them, since all workers see the same.
 */

import { unguarded } from '../store/commit/lost-record-guard.ts'
import { keyRanges } from '../store/commit/record-keys.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { Sample } from './families.ts'

const GARBAGE_COUNTED_MAX = 1000
/** Sampling volumes opens each of them. */
const VOLUMES_MS = 60_000

export class StoreMetrics {
  readonly #context: StoreContext
  #volumes: readonly Sample[] = []
  #sampledAt = Number.NEGATIVE_INFINITY

  constructor(context: StoreContext) {
    this.#context = context
  }

  async samples(): Promise<Sample[]> {
    const { meta } = unguarded(this.#context)
    const garbage = await meta.scan(keyRanges.kind('g'), GARBAGE_COUNTED_MAX)
    const figures = await meta.statistics?.()
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
    const { blobs, clock } = this.#context
    if (clock.elapsed() - this.#sampledAt < VOLUMES_MS) return this.#volumes
    this.#sampledAt = clock.elapsed()
    const volumes = await blobs.volumes()
    const bytes = volumes.reduce((sum, volume) => sum + volume.bytes, 0)
    this.#volumes = [
      ['holdfast_volumes', '', volumes.length],
      ['holdfast_volume_bytes', '', bytes],
    ]
    return this.#volumes
  }
}

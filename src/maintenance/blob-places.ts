/**
 * Checks that every packed blob has a range of an existing volume for itself. Blobs with a file of their own are
 * checked with their references.
 */
import type { VolumeState } from '../blobs/blobs.ts'
import { type BlobRecord, blobFormat } from '../model/content.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { Findings, Pace } from './findings.ts'
import { recordsOf } from './records.ts'

/** Ranges that are compared in one pass over the blob records. */
const RANGES_MAX = 2 ** 20
const ID_BYTES = 16
/** A start and an index share one number, so that sorting needs no comparator and is fast. */
const INDEX_LIMIT = 2 ** 22
const START_LIMIT = 2 ** 31

export class BlobPlaces {
  readonly #findings: Findings
  readonly #sizes: ReadonlyMap<string, number>
  /** Blobs of each volume. */
  readonly #packed = new Map<string, number>()
  blobs = 0
  bytes = 0

  constructor(volumes: readonly VolumeState[], findings: Findings) {
    this.#sizes = new Map(volumes.map(({ name, bytes }) => [name, bytes]))
    this.#findings = findings
  }

  /** Must be called for every blob record. */
  add(id: Buffer, { volume, offset, storedLength }: BlobRecord): void {
    this.blobs++
    this.bytes += storedLength
    if (volume === undefined) return
    this.#packed.set(volume, (this.#packed.get(volume) ?? 0) + 1)
    const size = this.#sizes.get(volume)
    if (size !== undefined && offset + storedLength > size) {
      this.#findings.problem(`${volume}: ends before blob ${id.toString('hex')} does`)
    }
  }

  async compare(context: StoreContext, pace: Pace): Promise<void> {
    let group: string[] = []
    let ranges = 0
    for (const [volume, blobs] of this.#packed) {
      if (!this.#sizes.has(volume)) this.#findings.problem(`${volume}: is missing`)
      if (ranges > 0 && ranges + blobs > RANGES_MAX) {
        await this.#compareGroup(context, group, pace)
        group = []
        ranges = 0
      }
      // A single one has nothing to overlap with.
      if (blobs === 1) continue
      group.push(volume)
      ranges += blobs
    }
    if (ranges > 0) await this.#compareGroup(context, group, pace)
  }

  async #compareGroup(context: StoreContext, volumes: readonly string[], pace: Pace): Promise<void> {
    const group = this.#rangesOf(volumes)
    for await (const { key, value } of recordsOf(context, 'b')) {
      const { volume, offset, storedLength } = blobFormat.decode(value)
      if (volume !== undefined) group.get(volume)?.add(key.subarray(1), offset, storedLength)
    }
    for (const [volume, ranges] of group) {
      for (const [one, next] of ranges.overlaps()) {
        this.#findings.problem(`${volume}: blobs ${one} and ${next} overlap`)
      }
      const { uncompared } = ranges
      if (uncompared > 0) this.#findings.problem(`${volume}: is too large to compare ${uncompared} blobs in it`)
      await pace()
    }
  }

  #rangesOf(volumes: readonly string[]): ReadonlyMap<string, VolumeRanges> {
    const arrays = new RangeArrays(volumes.reduce((sum, volume) => sum + this.#packed.get(volume)!, 0))
    const ranges = new Map<string, VolumeRanges>()
    let from = 0
    for (const volume of volumes) {
      ranges.set(volume, new VolumeRanges(arrays, from))
      from += this.#packed.get(volume)!
    }
    return ranges
  }
}

/** In little memory: a volume may have tens of thousands of ranges, and a store a million volumes with a few. */
class RangeArrays {
  readonly starts: Float64Array
  readonly ends: Float64Array
  readonly ids: Buffer

  constructor(capacity: number) {
    this.starts = new Float64Array(capacity)
    this.ends = new Float64Array(capacity)
    this.ids = Buffer.alloc(capacity * ID_BYTES)
  }
}

/** The ranges of one volume, in arrays that several volumes share. */
class VolumeRanges {
  readonly #arrays: RangeArrays
  readonly #from: number
  #length = 0
  /** Ranges beyond the size that any engine gives a volume. */
  uncompared = 0

  constructor(arrays: RangeArrays, from: number) {
    this.#arrays = arrays
    this.#from = from
  }

  add(id: Buffer, start: number, length: number): void {
    const index = this.#length
    if (index >= INDEX_LIMIT || start >= START_LIMIT) {
      this.uncompared++
      return
    }
    const { starts, ends, ids } = this.#arrays
    starts[this.#from + index] = start * INDEX_LIMIT + index
    ends[this.#from + index] = start + length
    id.copy(ids, (this.#from + index) * ID_BYTES)
    this.#length++
  }

  *overlaps(): Generator<readonly [string, string]> {
    const starts = this.#arrays.starts.subarray(this.#from, this.#from + this.#length).sort()
    for (let i = 0; i + 1 < starts.length; i++) {
      const [one, next] = [starts[i]! % INDEX_LIMIT, starts[i + 1]! % INDEX_LIMIT]
      const end = this.#arrays.ends[this.#from + one]!
      if (Math.floor(starts[i + 1]! / INDEX_LIMIT) < end) yield [this.#idAt(one), this.#idAt(next)]
    }
  }

  #idAt(index: number): string {
    const at = (this.#from + index) * ID_BYTES
    return this.#arrays.ids.toString('hex', at, at + ID_BYTES)
  }
}

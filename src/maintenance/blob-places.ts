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
    let group = new Map<string, VolumeRanges>()
    let ranges = 0
    for (const [volume, blobs] of this.#packed) {
      if (!this.#sizes.has(volume)) this.#findings.problem(`${volume}: is missing`)
      if (ranges > 0 && ranges + blobs > RANGES_MAX) {
        await this.#compareGroup(context, group, pace)
        group = new Map()
        ranges = 0
      }
      group.set(volume, new VolumeRanges(blobs))
      ranges += blobs
    }
    if (ranges > 0) await this.#compareGroup(context, group, pace)
  }

  async #compareGroup(context: StoreContext, group: ReadonlyMap<string, VolumeRanges>, pace: Pace): Promise<void> {
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
}

/** The ranges of one volume in little memory: a volume may have tens of thousands. */
class VolumeRanges {
  readonly #starts: Float64Array
  readonly #ends: Float64Array
  readonly #ids: Buffer
  #length = 0
  /** Ranges beyond the size that any engine gives a volume. */
  uncompared = 0

  constructor(capacity: number) {
    this.#starts = new Float64Array(capacity)
    this.#ends = new Float64Array(capacity)
    this.#ids = Buffer.alloc(capacity * ID_BYTES)
  }

  add(id: Buffer, start: number, length: number): void {
    const index = this.#length
    if (index >= INDEX_LIMIT || start >= START_LIMIT) {
      this.uncompared++
      return
    }
    this.#starts[index] = start * INDEX_LIMIT + index
    this.#ends[index] = start + length
    id.copy(this.#ids, index * ID_BYTES)
    this.#length++
  }

  *overlaps(): Generator<readonly [string, string]> {
    const starts = this.#starts.subarray(0, this.#length).sort()
    for (let i = 0; i + 1 < starts.length; i++) {
      const [one, next] = [starts[i]! % INDEX_LIMIT, starts[i + 1]! % INDEX_LIMIT]
      if (Math.floor(starts[i + 1]! / INDEX_LIMIT) < this.#ends[one]!) yield [this.#idAt(one), this.#idAt(next)]
    }
  }

  #idAt(index: number): string {
    return this.#ids.toString('hex', index * ID_BYTES, (index + 1) * ID_BYTES)
  }
}

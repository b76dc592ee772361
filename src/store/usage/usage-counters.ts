/**
 * Usage is counted in the commit that changes it, so a crash cannot separate the two; and commits do not contend for a
 * counter: each commit in flight has its own slot, a record that no other commit writes. A slot holds the sum of all
 * changes ever made through it; a bucket's usage is its base plus all slots of all processes. A failed commit leaves
 * its slot unchanged for the next one (docs/decisions/usage.md).
 */
import { WRITER_BYTES } from '../../lib/ids.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Meta } from '../../meta/meta.ts'
import { addDelta, countersFormat, type UsageDelta, zeroCounters } from '../../model/usage.ts'
import { keyRanges, parseUsage, recordKey } from '../commit/record-keys.ts'

/** Buckets whose slots are cached; slots of others are read again. */
const CACHED_BUCKETS_MAX = 10_000
const SLOTS_PER_SCAN = 1000

/** The change one transaction makes to the usage of its bucket. */
export interface BucketDelta extends UsageDelta {
  readonly bucketId: string
}

interface BucketSlots {
  readonly free: CounterSlot[]
  /** The number of slots, which is also the number of the next one. */
  count: number
  busy: number
}

interface CounterSlot {
  /** The record with its new sum; owned by the engine while a commit is in flight. */
  readonly write: { readonly key: Buffer; readonly value: Buffer }
  readonly bucket: BucketSlots
}

interface CountersOptions {
  /** The store's incarnation; zero for a store without an owner. */
  readonly incarnation: number
  /** Writer id of this process. */
  readonly writer: Buffer
  /** How many buckets' slots are cached. */
  readonly bucketsMax?: number
}

export class UsageCounters {
  /** Stored in bases that this process writes. */
  readonly incarnation: number
  readonly #writer: Buffer
  readonly #bucketsMax: number
  /** In loading order. */
  readonly #buckets = new Map<string, BucketSlots>()
  readonly #loading = new Map<string, Promise<void>>()

  constructor({ incarnation, writer, bucketsMax = CACHED_BUCKETS_MAX }: CountersOptions) {
    if (writer.length !== WRITER_BYTES) throw new Error(`a writer has ${WRITER_BYTES} bytes`)
    this.incarnation = incarnation
    this.#writer = writer
    this.#bucketsMax = bucketsMax
  }

  /**
   * A slot for one commit, with the change already applied. `settle` must follow. Synchronous except for the first
   * commit in a bucket.
   */
  begin(meta: Meta, delta: BucketDelta): MaybePromise<CounterSlot> {
    const slots = this.#buckets.get(delta.bucketId)
    // Looked up again, since the bucket may be evicted before the slot is used.
    if (slots === undefined) return this.#load(meta, delta.bucketId).then(() => this.begin(meta, delta))
    const slot = slots.free.pop() ?? this.#newSlot(delta.bucketId, slots)
    slots.busy++
    addDelta(slot.write.value, delta, 1)
    return slot
  }

  /** Must be called once the commit succeeded or certainly failed. */
  settle(slot: CounterSlot, delta: BucketDelta, isCommitted: boolean): void {
    if (!isCommitted) addDelta(slot.write.value, delta, -1)
    slot.bucket.busy--
    slot.bucket.free.push(slot)
  }

  #newSlot(bucketId: string, bucket: BucketSlots): CounterSlot {
    const key = recordKey.usageSlot(bucketId, this.#writer, bucket.count++)
    return { write: { key, value: zeroCounters() }, bucket }
  }

  /** Loads the slots that this process used before they were evicted. */
  #load(meta: Meta, bucketId: string): Promise<void> {
    const running = this.#loading.get(bucketId)
    if (running !== undefined) return running
    const loading = this.#read(meta, bucketId).finally(() => this.#loading.delete(bucketId))
    this.#loading.set(bucketId, loading)
    return loading
  }

  async #read(meta: Meta, bucketId: string): Promise<void> {
    const slots: BucketSlots = { free: [], count: 0, busy: 0 }
    const range = keyRanges.usageOfWriter(bucketId, this.#writer)
    for (let { start } = range; ; ) {
      const page = await meta.scan({ start, end: range.end }, SLOTS_PER_SCAN)
      for (const { key, value } of page) {
        slots.free.push({ write: { key, value: Buffer.from(countersFormat.decode(value)) }, bucket: slots })
        slots.count = parseUsage(key).slot + 1
      }
      if (page.length < SLOTS_PER_SCAN) break
      start = recordKey.usageSlot(bucketId, this.#writer, slots.count)
    }
    this.#evict()
    this.#buckets.set(bucketId, slots)
  }

  #evict(): void {
    if (this.#buckets.size < this.#bucketsMax) return
    for (const [bucketId, { busy }] of this.#buckets) {
      if (busy > 0) continue
      this.#buckets.delete(bucketId)
      if (this.#buckets.size < this.#bucketsMax) return
    }
  }
}

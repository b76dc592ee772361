/**
 * Usage is counted in the commit that changes it, so a crash cannot separate the two, and yet no two commits meet in a
 * counter: each commit under way has a slot of its own, a record that nobody else writes. A slot holds the sum of all
 * changes that ever went through it; a bucket's usage is its base plus all slots of all processes. A commit that is
 * refused leaves its slot as it was, and the next one takes it (docs/decisions/usage.md).
 */
import { WRITER_BYTES } from '../../lib/ids.ts'
import type { Meta } from '../../meta/meta.ts'
import { addDelta, countersFormat, isNothing, type UsageDelta, zeroCounters } from '../../model/usage.ts'
import { keyRanges, parseUsage, recordKey } from '../commit/record-keys.ts'

/** Slots of so many buckets are remembered; those of others are read again. */
const REMEMBERED_BUCKETS_MAX = 10_000
const SLOTS_PER_SCAN = 1000

/** The change one transaction makes to the usage of its bucket. */
export interface BucketDelta extends UsageDelta {
  readonly bucketId: string
}

interface BucketSlots {
  readonly free: CounterSlot[]
  /** Also the number of the next slot. */
  count: number
  busy: number
}

export interface CounterSlot {
  /** The record with its new sum; the engine has it while a commit is under way. */
  readonly write: { readonly key: Buffer; readonly value: Buffer }
  readonly among: BucketSlots
}

export interface CountersOptions {
  /** Of the folder's owner; zero where there is none. */
  readonly epoch: number
  /** Names this process. */
  readonly writer: Buffer
  /** How many buckets' slots are remembered. */
  readonly bucketsMax?: number
}

export class UsageCounters {
  /** For bases that this process writes. */
  readonly epoch: number
  readonly #writer: Buffer
  readonly #bucketsMax: number
  /** In the order in which they were loaded. */
  readonly #buckets = new Map<string, BucketSlots>()
  readonly #loading = new Map<string, Promise<void>>()

  constructor({ epoch, writer, bucketsMax = REMEMBERED_BUCKETS_MAX }: CountersOptions) {
    if (writer.length !== WRITER_BYTES) throw new Error(`a writer has ${WRITER_BYTES} bytes`)
    this.epoch = epoch
    this.#writer = writer
    this.#bucketsMax = bucketsMax
  }

  /**
   * A slot for one commit, with the change already in it; undefined when nothing changes, as in an overwrite of the
   * same size. `settle` must follow. It is there at once, but for the first commit in a bucket.
   */
  begin(meta: Meta, delta: BucketDelta): CounterSlot | undefined | Promise<CounterSlot | undefined> {
    if (isNothing(delta)) return undefined
    const slots = this.#buckets.get(delta.bucketId)
    // It may be forgotten again before it is used, so it is looked up again.
    if (slots === undefined) return this.#load(meta, delta.bucketId).then(() => this.begin(meta, delta))
    const slot = slots.free.pop() ?? this.#newSlot(delta.bucketId, slots)
    slots.busy++
    addDelta(slot.write.value, delta, 1)
    return slot
  }

  /** The commit was taken, or nothing of it was written. */
  settle(slot: CounterSlot, delta: BucketDelta, isTaken: boolean): void {
    if (!isTaken) addDelta(slot.write.value, delta, -1)
    slot.among.busy--
    slot.among.free.push(slot)
  }

  #newSlot(bucketId: string, among: BucketSlots): CounterSlot {
    const key = recordKey.usageSlot(bucketId, this.#writer, among.count++)
    return { write: { key, value: zeroCounters() }, among }
  }

  /** The slots that this process had before it forgot them. */
  #load(meta: Meta, bucketId: string): Promise<void> {
    const known = this.#loading.get(bucketId)
    if (known !== undefined) return known
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
        slots.free.push({ write: { key, value: Buffer.from(countersFormat.decode(value)) }, among: slots })
        slots.count = parseUsage(key).slot + 1
      }
      if (page.length < SLOTS_PER_SCAN) break
      start = recordKey.usageSlot(bucketId, this.#writer, slots.count)
    }
    this.#forgetSome()
    this.#buckets.set(bucketId, slots)
  }

  #forgetSome(): void {
    if (this.#buckets.size < this.#bucketsMax) return
    for (const [bucketId, { busy }] of this.#buckets) {
      if (busy > 0) continue
      this.#buckets.delete(bucketId)
      if (this.#buckets.size < this.#bucketsMax) return
    }
  }
}

/**
 * Keeps the counters of buckets believable and few. Buckets that were never counted, or only before somebody worked
 * without counters, are counted one by one. Then slots of processes that are gone are folded into the base of their
 * bucket, and those of removed buckets are removed.
 */
import { keySuccessor } from '../lib/bytes.ts'
import { DamagedRecord, type Entry, META_LIMITS, type Snapshot } from '../meta/meta.ts'
import { bucketFormat } from '../model/bucket.ts'
import { addCounters, countersFormat, usageBaseFormat } from '../model/usage.ts'
import { keyRanges, parseUsage, recordKey } from '../store/commit/record-keys.ts'
import { transact } from '../store/commit/transaction.ts'
import type { StoreContext } from '../store/store-context.ts'
import { recount } from '../store/usage/recount.ts'
import { usageRecords } from '../store/usage/usage.ts'
import { endUsageCounting, usageMark } from '../store/usage/usage-mark.ts'
import type { Worker } from './worker.ts'

const BUCKETS_PER_STEP = 100
/** A check and a write for each, and the base. */
const FOLDED_AT_ONCE = 100
if (2 * FOLDED_AT_ONCE + 2 > META_LIMITS.commitKeysMax) throw new Error('too many slots for one commit')

export class UsageCounter implements Worker {
  readonly #context: StoreContext
  readonly #snapshot: () => Promise<Snapshot>
  /** Where the walk over buckets goes on. */
  #next: Buffer | undefined
  /** A bucket of this walk could not be counted. */
  #isIncomplete = false
  /** Buckets counted, and slots folded or removed, since the start. */
  counted = 0
  folded = 0
  /** Buckets that a damaged record kept from being counted, as of the last walk. */
  failures: readonly string[] = []

  constructor(context: StoreContext, snapshot: () => Promise<Snapshot>) {
    this.#context = context
    this.#snapshot = snapshot
  }

  async step(): Promise<'busy' | 'idle'> {
    const mark = await usageMark(this.#context.meta)
    if (!mark.done) {
      this.#next ??= keyRanges.buckets().start
      this.#next = await this.#countSome(this.#next, mark.since)
      if (this.#next !== undefined) return 'busy'
      const isIncomplete = this.#isIncomplete
      this.#isIncomplete = false
      if (isIncomplete || !(await endUsageCounting(this.#context, mark))) return 'idle'
      this.failures = []
    }
    await this.#fold()
    return 'idle'
  }

  /** Resolves to where to go on. */
  async #countSome(start: Buffer, since: number): Promise<Buffer | undefined> {
    const { meta } = this.#context
    const page = await meta.scan({ start, end: keyRanges.buckets().end }, BUCKETS_PER_STEP)
    for (const entry of page) {
      const { id, name } = bucketFormat.decode(entry.value)
      const base = await meta.get(recordKey.usageBase(id))
      if (base !== undefined && usageBaseFormat.decode(base.value).epoch >= since) continue
      // One at a time, and other upkeep in between: a large bucket takes its time.
      await this.#count(name)
      return keySuccessor(entry.key)
    }
    return page.length < BUCKETS_PER_STEP ? undefined : keySuccessor(page.at(-1)!.key)
  }

  async #count(name: string): Promise<void> {
    try {
      if (await recount(this.#context, this.#snapshot, name)) this.counted++
      this.failures = this.failures.filter(other => other !== name)
    } catch (error) {
      if (!(error instanceof DamagedRecord)) throw error
      this.#isIncomplete = true
      if (!this.failures.includes(name)) this.failures = [...this.failures, name]
    }
  }

  async #fold(): Promise<void> {
    for await (const { bucketId, entries } of usageRecords(this.#context.meta)) {
      const slots = entries.filter(({ key }) => parseUsage(key).writer !== undefined)
      const isGone = slots.length === entries.length
      // Nothing is ever written to a slot of a bucket that is gone: a commit that counts depends on its bucket.
      const over = isGone ? slots : slots.filter(({ key }) => !this.#isAlive(parseUsage(key).writer!))
      for (let from = 0; from < over.length; from += FOLDED_AT_ONCE) {
        await this.#foldSome(bucketId, over.slice(from, from + FOLDED_AT_ONCE))
      }
    }
  }

  #isAlive(writer: Buffer): boolean {
    const { ids, reclamation: company } = this.#context
    return ids.writer.equals(writer) || company.isPeerWriter(writer)
  }

  /** Their sum becomes part of the base in the commit that removes them; without a base it is nobody's. */
  async #foldSome(bucketId: string, slots: readonly Entry[]): Promise<void> {
    await transact(this.#context, async tx => {
      const entry = await tx.get(recordKey.usageBase(bucketId))
      if (entry !== undefined) {
        const { epoch, counters } = usageBaseFormat.decode(entry.value)
        for (const { value } of slots) addCounters(counters, countersFormat.decode(value), 1)
        tx.put(entry.key, usageBaseFormat.encode({ epoch, counters }))
      }
      for (const slot of slots) {
        tx.relyOn(slot)
        const { writer, slot: number } = parseUsage(slot.key)
        tx.remove(recordKey.usageSlot(bucketId, writer!, number))
      }
    })
    this.folded += slots.length
  }
}

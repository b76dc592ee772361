/**
 * Keeps usage counters valid and few. Buckets that were never counted, or were counted before a program version without
 * counters ran, are counted one by one. Then slots of dead processes are folded into the base of their bucket, and
 * slots of removed buckets are removed.
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
import type { MaintenanceStep } from './maintenance-step.ts'

const BUCKETS_PER_STEP = 100
/** One check and one write per slot, and the base. */
const SLOTS_PER_COMMIT = 100
if (2 * SLOTS_PER_COMMIT + 2 > META_LIMITS.commitKeysMax) throw new Error('too many slots for one commit')

export class UsageCounter implements MaintenanceStep {
  readonly #context: StoreContext
  readonly #snapshot: () => Promise<Snapshot>
  /** Where the scan over buckets continues. */
  #next: Buffer | undefined
  /** A bucket of this scan could not be counted. */
  #isIncomplete = false
  /** Buckets counted, and slots folded or removed, since the start. */
  counted = 0
  folded = 0
  /** Buckets that a damaged record kept from being counted, as of the last scan. */
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

  /** Resolves to the next start. */
  async #countSome(start: Buffer, since: number): Promise<Buffer | undefined> {
    const { meta } = this.#context
    const page = await meta.scan({ start, end: keyRanges.buckets().end }, BUCKETS_PER_STEP)
    for (const entry of page) {
      const { id, name } = bucketFormat.decode(entry.value)
      const base = await meta.get(recordKey.usageBase(id))
      if (base !== undefined && usageBaseFormat.decode(base.value).incarnation >= since) continue
      // One bucket per step, so that a large one does not delay other maintenance.
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
    const { ids, reclamation } = this.#context
    for await (const { bucketId, entries } of usageRecords(this.#context.meta)) {
      const isPeer = await reclamation.peerWriters()
      const isAlive = (writer: Buffer): boolean => ids.writer.equals(writer) || isPeer(writer)
      const slots = entries.filter(({ key }) => parseUsage(key).writer !== undefined)
      const isGone = slots.length === entries.length
      // No commit writes to a slot of a removed bucket: a commit that counts checks its bucket.
      const foldable = isGone ? slots : slots.filter(({ key }) => !isAlive(parseUsage(key).writer!))
      for (let from = 0; from < foldable.length; from += SLOTS_PER_COMMIT) {
        await this.#foldSome(bucketId, foldable.slice(from, from + SLOTS_PER_COMMIT))
      }
    }
  }

  /**
   * Adds their sum to the base in the commit that removes them; without a base the bucket is gone and the sum is
   * dropped.
   */
  async #foldSome(bucketId: string, slots: readonly Entry[]): Promise<void> {
    await transact(this.#context, async tx => {
      const entry = await tx.get(recordKey.usageBase(bucketId))
      if (entry !== undefined) {
        const { incarnation, counters } = usageBaseFormat.decode(entry.value)
        for (const { value } of slots) addCounters(counters, countersFormat.decode(value), 1)
        tx.put(entry.key, usageBaseFormat.encode({ incarnation, counters }))
      }
      for (const slot of slots) {
        tx.check(slot)
        const { writer, slot: number } = parseUsage(slot.key)
        tx.remove(recordKey.usageSlot(bucketId, writer!, number))
      }
    })
    this.folded += slots.length
  }
}

/**
 * Keeps the counters of buckets believable and few. Buckets that were never counted, or only before somebody worked
 * without counters, are counted one by one. Then slots of processes that are gone are folded into the base of their
 * bucket, and those of removed buckets are removed.
 */
import { justAfter } from '../lib/bytes.ts'
import { DamagedRecord, type Entry, META_LIMITS, type Snapshot } from '../meta/meta.ts'
import { bucketFormat } from '../model/bucket.ts'
import { addCounters, countersFormat, usageBaseFormat } from '../model/usage.ts'
import { all, at, parseUsage } from '../store/addresses.ts'
import { decide } from '../store/decision.ts'
import type { Engine } from '../store/engine.ts'
import { recount } from '../store/recount.ts'
import { usageRecords } from '../store/usage.ts'
import { endCounting, usageMark } from '../store/usage-mark.ts'
import type { Worker } from './worker.ts'

const BUCKETS_PER_STEP = 100
/** A check and a write for each, and the base. */
const FOLDED_AT_ONCE = 100
if (2 * FOLDED_AT_ONCE + 2 > META_LIMITS.commitKeysMax) throw new Error('too many slots for one commit')

export class UsageCounter implements Worker {
  readonly #engine: Engine
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

  constructor(engine: Engine, snapshot: () => Promise<Snapshot>) {
    this.#engine = engine
    this.#snapshot = snapshot
  }

  async step(): Promise<'busy' | 'idle'> {
    const mark = await usageMark(this.#engine.meta)
    if (!mark.done) {
      this.#next ??= all.buckets().start
      this.#next = await this.#countSome(this.#next, mark.since)
      if (this.#next !== undefined) return 'busy'
      const isIncomplete = this.#isIncomplete
      this.#isIncomplete = false
      if (isIncomplete || !(await endCounting(this.#engine, mark))) return 'idle'
      this.failures = []
    }
    await this.#fold()
    return 'idle'
  }

  /** Resolves to where to go on. */
  async #countSome(start: Buffer, since: number): Promise<Buffer | undefined> {
    const { meta } = this.#engine
    const page = await meta.scan({ start, end: all.buckets().end }, BUCKETS_PER_STEP)
    for (const entry of page) {
      const { id, name } = bucketFormat.decode(entry.value)
      const base = await meta.get(at.usageBase(id))
      if (base !== undefined && usageBaseFormat.decode(base.value).epoch >= since) continue
      // One at a time, and other upkeep in between: a large bucket takes its time.
      await this.#count(name)
      return justAfter(entry.key)
    }
    return page.length < BUCKETS_PER_STEP ? undefined : justAfter(page.at(-1)!.key)
  }

  async #count(name: string): Promise<void> {
    try {
      if (await recount(this.#engine, this.#snapshot, name)) this.counted++
      this.failures = this.failures.filter(other => other !== name)
    } catch (error) {
      if (!(error instanceof DamagedRecord)) throw error
      this.#isIncomplete = true
      if (!this.failures.includes(name)) this.failures = [...this.failures, name]
    }
  }

  async #fold(): Promise<void> {
    for await (const { bucketId, entries } of usageRecords(this.#engine.meta)) {
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
    const { ids, company } = this.#engine
    return ids.writer.equals(writer) || company.othersAppend(writer)
  }

  /** Their sum becomes part of the base in the commit that removes them; without a base it is nobody's. */
  async #foldSome(bucketId: string, slots: readonly Entry[]): Promise<void> {
    await decide(this.#engine, async d => {
      const entry = await d.get(at.usageBase(bucketId))
      if (entry !== undefined) {
        const { epoch, counters } = usageBaseFormat.decode(entry.value)
        for (const { value } of slots) addCounters(counters, countersFormat.decode(value), 1)
        d.put(entry.key, usageBaseFormat.encode({ epoch, counters }))
      }
      for (const slot of slots) {
        d.relyOn(slot)
        const { writer, slot: number } = parseUsage(slot.key)
        d.remove(at.usageSlot(bucketId, writer!, number))
      }
    })
    this.folded += slots.length
  }
}

/**
 * Scans the buckets that have lifecycle rules for candidates. It reads only under the prefixes of rules, one page per
 * step, and yields in between. The commit that applies an expiry evaluates it again (`store/objects/expiry.ts`).
 */
import type { Entry, KeyRange } from '../meta/meta.ts'
import { OutcomeUnknown } from '../meta/meta.ts'
import { bucketFormat } from '../model/bucket.ts'
import { uploadFormat } from '../model/upload.ts'
import { versionFormat } from '../model/version-record.ts'
import {
  abortOf,
  expirationOf,
  isDue,
  type LifecycleRule,
  noncurrentExpirationOf,
  prefixesOf,
} from '../rules/lifecycle.ts'
import { JUMP_MS_MAX } from '../rules/lock-time.ts'
import { documentFormat } from '../store/buckets/documents.ts'
import { OwnershipLost } from '../store/commit/fenced-meta.ts'
import { keyRanges, parseRecordKey, recordKey } from '../store/commit/record-keys.ts'
import { rangeOf } from '../store/listing/listing-page.ts'
import { Expiry, type ExpiryOutcome, expiringOf } from '../store/objects/expiry.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { MaintenanceStep } from './maintenance-step.ts'
import { readPage, recordsOf } from './records.ts'

const PAGE = 250
/** Concurrent commits share one sync. */
const CONCURRENCY = 16

/** A candidate. Those of one key run one after the other. */
interface Job {
  readonly key: string
  readonly run: () => Promise<ExpiryOutcome>
}

/** A bucket and its rules. */
interface BucketRules {
  readonly bucket: string
  readonly rules: readonly LifecycleRule[]
}

/** A page of records and the time to evaluate them at. */
interface RecordPage {
  readonly page: readonly Entry[]
  readonly now: number
}

/** The version just newer than an older one, carried from one page to the next. */
interface Newer {
  readonly key: string
  readonly modifiedAt: number
  /** Noncurrent versions newer than this one. */
  readonly others: number
}

export class Lifecycle implements MaintenanceStep {
  readonly #context: StoreContext
  readonly #expiry: Expiry
  #round: AsyncGenerator<readonly Job[]> | undefined
  #lockedThisRound = 0
  /** When the wall clock was first seen ahead of the accounted time. */
  #jumpSeen: number | undefined
  /** Versions removed, and delete markers that hid nothing, since the start. */
  removed = 0
  /** Delete markers created over expired objects, since the start. */
  marked = 0
  aborted = 0
  /** Versions that are due but locked, as counted in the last complete round. */
  locked = 0
  failures = 0
  lastFailure: unknown
  readonly #onTransitions: (bucket: string) => void
  readonly #reported = new Set<string>()

  /** `onTransitions` is called once per bucket whose rules ask for another storage class, which is not supported. */
  constructor(context: StoreContext, onTransitions: (bucket: string) => void = () => {}) {
    this.#context = context
    this.#onTransitions = onTransitions
    this.#expiry = new Expiry(context)
  }

  async step(): Promise<'busy' | 'idle'> {
    // An expiry may depend on a lost version: a delete marker may hide one, and a count of newer versions may include
    // one.
    if (this.#context.losses.isAny) return 'idle'
    this.#round ??= this.#pages()
    try {
      const { value: jobs, done } = await this.#round.next()
      if (done === true) return this.#endRound()
      await this.#run(jobs)
    } catch (error) {
      this.#round = undefined
      throw error
    }
    // An in-memory engine answers synchronously: without a pause a long scan would block requests.
    await this.#context.clock.sleep(0)
    return 'busy'
  }

  #endRound(): 'idle' {
    this.#round = undefined
    this.locked = this.#lockedThisRound
    this.#lockedThisRound = 0
    return 'idle'
  }

  async #run(jobs: readonly Job[]): Promise<void> {
    const byKey = new Map<string, Job[]>()
    for (const job of jobs) {
      const same = byKey.get(job.key)
      if (same === undefined) byKey.set(job.key, [job])
      else same.push(job)
    }
    const keys = [...byKey.values()]
    for (let from = 0; from < keys.length; from += CONCURRENCY) {
      await Promise.all(keys.slice(from, from + CONCURRENCY).map(group => this.#runSequentially(group)))
    }
  }

  /** A failed expiry is recorded and found again in the next round; others do not wait for it. */
  async #runSequentially(jobs: readonly Job[]): Promise<void> {
    for (const { run } of jobs) {
      try {
        this.#count(await run())
      } catch (error) {
        if (error instanceof OutcomeUnknown || error instanceof OwnershipLost) throw error
        this.#recordFailure(error)
      }
    }
  }

  #count(outcome: ExpiryOutcome): void {
    if (outcome === 'removed') this.removed++
    else if (outcome === 'marked') this.marked++
    else if (outcome === 'aborted') this.aborted++
    else if (outcome === 'locked') this.#lockedThisRound++
  }

  #recordFailure(error: unknown): void {
    this.failures++
    this.lastFailure = error
  }

  async *#pages(): AsyncGenerator<readonly Job[]> {
    for await (const entry of recordsOf(this.#context, 'B')) {
      const { name: bucket, documents } = bucketFormat.decode(entry.value)
      if (!documents.includes('lifecycle')) continue
      const document = await this.#context.meta.get(recordKey.document(bucket, 'lifecycle'))
      if (document === undefined) continue
      const target = { bucket, rules: this.#context.lifecycleRules(documentFormat.decode(document.value)) }
      this.#reportTransitions(target)
      yield* this.#current(target)
      yield* this.#older(target)
      yield* this.#markers(target)
      yield* this.#uploads(target)
    }
  }

  #reportTransitions({ bucket, rules }: BucketRules): void {
    if (this.#reported.has(bucket) || !rules.some(rule => rule.enabled && rule.hasTransitions)) return
    this.#reported.add(bucket)
    this.#onTransitions(bucket)
  }

  async *#current({ bucket, rules }: BucketRules): AsyncGenerator<readonly Job[]> {
    for await (const { page, now } of this.#records('o', bucket, prefixesOf(rules, 'current'))) {
      const jobs: Job[] = []
      for (const entry of page) {
        const key = parseRecordKey(entry.key).name
        const due = expirationOf(rules, expiringOf(key, versionFormat.decode(entry.value)))
        if (isDue(due, now)) jobs.push({ key, run: () => this.#expiry.current(bucket, key, now) })
      }
      yield jobs
    }
  }

  async *#older({ bucket, rules }: BucketRules): AsyncGenerator<readonly Job[]> {
    let before: Newer | undefined
    for await (const { page, now } of this.#records('v', bucket, prefixesOf(rules, 'noncurrent'))) {
      const jobs: Job[] = []
      for (const entry of page) {
        const key = parseRecordKey(entry.key).name
        const version = versionFormat.decode(entry.value)
        const newer: Newer | undefined = before?.key === key ? before : await this.#currentOf(bucket, key)
        before = { key, modifiedAt: version.modifiedAt, others: newer === undefined ? 0 : newer.others + 1 }
        if (newer === undefined) continue
        const of = { ...expiringOf(key, version), marker: version.marker, since: newer.modifiedAt, newer: newer.others }
        if (!isDue(noncurrentExpirationOf(rules, of), now)) continue
        jobs.push({ key, run: () => this.#expiry.noncurrent(bucket, key, version.seq, now) })
      }
      yield jobs
    }
  }

  /** Undefined when the newest version is a delete marker, which is stored among the older ones. */
  async #currentOf(bucket: string, key: string): Promise<Newer | undefined> {
    const entry = await this.#context.meta.get(recordKey.current(bucket, key))
    if (entry === undefined) return undefined
    return { key, modifiedAt: versionFormat.decode(entry.value).modifiedAt, others: 0 }
  }

  async *#markers({ bucket, rules }: BucketRules): AsyncGenerator<readonly Job[]> {
    for await (const { page, now } of this.#records('h', bucket, prefixesOf(rules, 'marker'))) {
      const jobs: Job[] = []
      for (const entry of page) {
        const key = parseRecordKey(entry.key).name
        const versions = await this.#context.meta.scan(keyRanges.olderOf(bucket, key), 2)
        if (versions.length === 1) jobs.push({ key, run: () => this.#expiry.loneMarker(bucket, key, now) })
      }
      yield jobs
    }
  }

  async *#uploads({ bucket, rules }: BucketRules): AsyncGenerator<readonly Job[]> {
    for await (const { page, now } of this.#records('u', bucket, prefixesOf(rules, 'upload'))) {
      const jobs: Job[] = []
      for (const entry of page) {
        const { key, id, initiatedAt } = uploadFormat.decode(entry.value)
        if (!isDue(abortOf(rules, key, initiatedAt), now)) continue
        jobs.push({ key, run: () => this.#expiry.upload({ bucket, key, uploadId: id.toString('hex') }, now) })
      }
      yield jobs
    }
  }

  /** Pages of records of one kind with these prefixes. A damaged record is reported and skipped. */
  async *#records(kind: string, bucket: string, prefixes: readonly string[]): AsyncGenerator<RecordPage> {
    for (const prefix of prefixes) {
      const range: KeyRange = rangeOf(kind, { bucket, prefix, limit: PAGE })
      for (let start: Buffer | undefined = range.start; start !== undefined; ) {
        const page = await readPage(this.#context, { start, end: range.end }, PAGE)
        if (page.damaged !== undefined) this.#recordFailure(page.damaged)
        yield { page: page.entries, now: await this.#now() }
        start = page.next
      }
    }
  }

  /**
   * A wall clock that jumped ahead may be wrong, and expired objects are gone for good. For a day rules therefore use
   * lock time, so that an operator can react. Then the clock is trusted: after a long downtime of the server it is
   * right.
   */
  async #now(): Promise<number> {
    const { clock, lockTime, jumped } = await this.#context.lockClock.state()
    const elapsed = this.#context.clock.elapsed()
    this.#jumpSeen = jumped ? (this.#jumpSeen ?? elapsed) : undefined
    return this.#jumpSeen !== undefined && elapsed - this.#jumpSeen < JUMP_MS_MAX ? lockTime : clock
  }
}

/**
 * Walks through the buckets that have lifecycle rules and looks for what is due. It reads only where a rule's prefix
 * leads, a page in each step, and lets others go first in between; what it finds is judged again by the commit that
 * takes it away (`store/objects/expiry.ts`).
 */
import type { Entry, KeyRange } from '../meta/meta.ts'
import { OutcomeUnknown } from '../meta/meta.ts'
import { bucketFormat } from '../model/bucket.ts'
import { uploadFormat } from '../model/upload.ts'
import { versionFormat } from '../model/version-record.ts'
import { lifecycleRules } from '../rules/documents/lifecycle.ts'
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
import { readPage, recordsOf } from './records.ts'
import type { Worker } from './worker.ts'

const PAGE = 250
/** Commits that arrive together share one sync. */
const AT_ONCE = 16

/** Something that seems to be due. Those of one key are done one after the other. */
interface Job {
  readonly key: string
  readonly run: () => Promise<ExpiryOutcome>
}

/** Where a bucket is being looked through, and by which rules. */
interface Place {
  readonly bucket: string
  readonly rules: readonly LifecycleRule[]
}

/** Records, and the time that they are judged at. */
interface Looked {
  readonly page: readonly Entry[]
  readonly now: number
}

/** How the version before an older one is known, from one page to the next. */
interface Newer {
  readonly key: string
  readonly modifiedAt: number
  /** So many behind it and before the next are not current. */
  readonly others: number
}

export class Lifecycle implements Worker {
  readonly #context: StoreContext
  readonly #expiry: Expiry
  #round: AsyncGenerator<readonly Job[]> | undefined
  #lockedThisRound = 0
  /** When the clock was first seen ahead of what can be accounted for. */
  #jumpSeen: number | undefined
  /** Versions, and markers that hid nothing, since the start. */
  removed = 0
  /** Markers that were put over expired objects, since the start. */
  marked = 0
  aborted = 0
  /** Versions that are due but locked: as many as the last whole round met. */
  locked = 0
  failures = 0
  lastFailure: unknown
  readonly #onTransitions: (bucket: string) => void
  readonly #toldOf = new Set<string>()

  /** `onTransitions` is called once for each bucket whose rules ask for another storage class: nothing is moved. */
  constructor(context: StoreContext, onTransitions: (bucket: string) => void = () => {}) {
    this.#context = context
    this.#onTransitions = onTransitions
    this.#expiry = new Expiry(context)
  }

  async step(): Promise<'busy' | 'idle'> {
    // An expiration may depend on a version that is lost: a marker may hide one, and one more may be kept.
    if (this.#context.losses.isAny) return 'idle'
    this.#round ??= this.#pages()
    try {
      const { value: jobs, done } = await this.#round.next()
      if (done === true) return this.#endRound()
      await this.#perform(jobs)
    } catch (error) {
      this.#round = undefined
      throw error
    }
    // An engine in memory answers at once: without a pause a long walk would keep requests waiting.
    await this.#context.clock.sleep(0)
    return 'busy'
  }

  #endRound(): 'idle' {
    this.#round = undefined
    this.locked = this.#lockedThisRound
    this.#lockedThisRound = 0
    return 'idle'
  }

  async #perform(jobs: readonly Job[]): Promise<void> {
    const byKey = new Map<string, Job[]>()
    for (const job of jobs) {
      const same = byKey.get(job.key)
      if (same === undefined) byKey.set(job.key, [job])
      else same.push(job)
    }
    const keys = [...byKey.values()]
    for (let from = 0; from < keys.length; from += AT_ONCE) {
      await Promise.all(keys.slice(from, from + AT_ONCE).map(group => this.#performInTurn(group)))
    }
  }

  /** One that fails is noted and found again in the next round; the others do not wait for it. */
  async #performInTurn(jobs: readonly Job[]): Promise<void> {
    for (const { run } of jobs) {
      try {
        this.#count(await run())
      } catch (error) {
        if (error instanceof OutcomeUnknown || error instanceof OwnershipLost) throw error
        this.#note(error)
      }
    }
  }

  #count(fate: ExpiryOutcome): void {
    if (fate === 'removed') this.removed++
    else if (fate === 'marked') this.marked++
    else if (fate === 'aborted') this.aborted++
    else if (fate === 'locked') this.#lockedThisRound++
  }

  #note(error: unknown): void {
    this.failures++
    this.lastFailure = error
  }

  async *#pages(): AsyncGenerator<readonly Job[]> {
    for await (const entry of recordsOf(this.#context, 'B')) {
      const { name: bucket, documents } = bucketFormat.decode(entry.value)
      if (!documents.includes('lifecycle')) continue
      const document = await this.#context.meta.get(recordKey.document(bucket, 'lifecycle'))
      if (document === undefined) continue
      const place = { bucket, rules: lifecycleRules(documentFormat.decode(document.value)) }
      this.#tellOfTransitions(place)
      yield* this.#current(place)
      yield* this.#older(place)
      yield* this.#markers(place)
      yield* this.#uploads(place)
    }
  }

  #tellOfTransitions({ bucket, rules }: Place): void {
    if (this.#toldOf.has(bucket) || !rules.some(rule => rule.enabled && rule.hasTransitions)) return
    this.#toldOf.add(bucket)
    this.#onTransitions(bucket)
  }

  async *#current({ bucket, rules }: Place): AsyncGenerator<readonly Job[]> {
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

  async *#older({ bucket, rules }: Place): AsyncGenerator<readonly Job[]> {
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

  /** Undefined when the newest of its versions is a marker, which stands among the older ones. */
  async #currentOf(bucket: string, key: string): Promise<Newer | undefined> {
    const entry = await this.#context.meta.get(recordKey.current(bucket, key))
    if (entry === undefined) return undefined
    return { key, modifiedAt: versionFormat.decode(entry.value).modifiedAt, others: 0 }
  }

  async *#markers({ bucket, rules }: Place): AsyncGenerator<readonly Job[]> {
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

  async *#uploads({ bucket, rules }: Place): AsyncGenerator<readonly Job[]> {
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

  /** Pages of records of one kind with these prefixes. A damaged one is noted and passed over. */
  async *#records(kind: string, bucket: string, prefixes: readonly string[]): AsyncGenerator<Looked> {
    for (const prefix of prefixes) {
      const range: KeyRange = rangeOf(kind, { bucket, prefix, limit: PAGE })
      for (let start: Buffer | undefined = range.start; start !== undefined; ) {
        const page = await readPage(this.#context, { start, end: range.end }, PAGE)
        if (page.damaged !== undefined) this.#note(page.damaged)
        yield { page: page.entries, now: await this.#now() }
        start = page.next
      }
    }
  }

  /**
   * A clock that ran ahead may be wrong, and what it takes away does not come back. So for a day rules go by the time
   * that locks go by: somebody may notice. Then the clock is believed: after a long rest of the server it is right.
   */
  async #now(): Promise<number> {
    const { clock, lockTime, jumped } = await this.#context.lockClock.state()
    const elapsed = this.#context.clock.elapsed()
    this.#jumpSeen = jumped ? (this.#jumpSeen ?? elapsed) : undefined
    return this.#jumpSeen !== undefined && elapsed - this.#jumpSeen < JUMP_MS_MAX ? lockTime : clock
  }
}

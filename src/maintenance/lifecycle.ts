/**
 * Applies lifecycle rules: candidates of one page per step, and it yields in between. The commit that applies an expiry
 * evaluates it again (`store/objects/expiry.ts`).
 */
import { BadRecord } from '../lib/codec.ts'
import { BadXml } from '../lib/xml.ts'
import { DamagedRecord, OutcomeUnknown } from '../meta/meta.ts'
import { bucketFormat } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import { JUMP_MS_MAX } from '../rules/lock-time.ts'
import { documentFormat } from '../store/buckets/documents.ts'
import { OwnershipLost } from '../store/commit/fenced-meta.ts'
import { recordKey } from '../store/commit/record-keys.ts'
import { Expiry, type ExpiryOutcome } from '../store/objects/expiry.ts'
import type { StoreContext } from '../store/store-context.ts'
import { type BucketRules, type LifecycleCandidate, LifecycleCandidates } from './lifecycle-candidates.ts'
import type { MaintenanceStep } from './maintenance-step.ts'
import { recordsOf } from './records.ts'

/** Concurrent commits share one sync. */
const CONCURRENCY = 16

/** A candidate. Those of one key run one after the other. */
interface Job {
  readonly key: string
  readonly run: () => Promise<ExpiryOutcome>
}

/** Documents that earlier versions accepted may be unreadable as well as damaged ones. */
const isUnreadable = (error: unknown): boolean =>
  [DamagedRecord, BadRecord, BadXml, Fault].some(kind => error instanceof kind)

export class Lifecycle implements MaintenanceStep {
  readonly #context: StoreContext
  readonly #expiry: Expiry
  readonly #candidates: LifecycleCandidates
  #round: AsyncGenerator<readonly Job[]> | undefined
  #lockedThisRound = 0
  /** Of the first bucket that this round could not read. */
  #unread: Error | undefined
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
    this.#candidates = new LifecycleCandidates(
      context,
      () => this.#now(),
      error => this.#recordFailure(error),
    )
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
      this.#beginAgain()
      throw error
    }
    // An in-memory engine answers synchronously: without a pause a long scan would block requests.
    await this.#context.clock.sleep(0)
    return 'busy'
  }

  #endRound(): 'idle' {
    this.locked = this.#lockedThisRound
    const unread = this.#unread
    this.#beginAgain()
    if (unread !== undefined) throw unread
    return 'idle'
  }

  #beginAgain(): void {
    this.#round = undefined
    this.#lockedThisRound = 0
    this.#unread = undefined
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
      try {
        yield* this.#pagesOf(bucket)
      } catch (error) {
        if (!isUnreadable(error)) throw error
        // Other buckets do not wait until this one is repaired.
        this.#unread ??= new Error(`the lifecycle rules of bucket ${bucket} were not carried out: ${error}`)
      }
    }
  }

  async *#pagesOf(bucket: string): AsyncGenerator<readonly Job[]> {
    const document = await this.#context.meta.get(recordKey.document(bucket, 'lifecycle'))
    if (document === undefined) return
    const target = { bucket, rules: this.#context.lifecycleRules(documentFormat.decode(document.value)) }
    this.#reportTransitions(target)
    for await (const { candidates, now } of this.#candidates.of(target)) {
      yield candidates.map(found => this.#jobOf(bucket, found, now))
    }
  }

  #reportTransitions({ bucket, rules }: BucketRules): void {
    if (this.#reported.has(bucket) || !rules.some(rule => rule.enabled && rule.hasTransitions)) return
    this.#reported.add(bucket)
    this.#onTransitions(bucket)
  }

  #jobOf(bucket: string, found: LifecycleCandidate, now: number): Job {
    const { key } = found
    if (found.what === 'upload') {
      return { key, run: () => this.#expiry.upload({ bucket, key, uploadId: found.uploadId }, now) }
    }
    if (found.what === 'lone marker') return { key, run: () => this.#expiry.loneMarker(bucket, key, now) }
    if (found.what === 'current') return { key, run: () => this.#expiry.current(bucket, key, now) }
    const { seq } = found.version
    return { key, run: () => this.#expiry.noncurrent(bucket, key, seq, now) }
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

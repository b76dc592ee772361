/**
 * Finds what the lifecycle rules of a bucket make due. It reads only under the prefixes of rules, one page at a time.
 * Whether a candidate is still due is decided again by the commit that applies it (`store/objects/expiry.ts`).
 */
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { DamagedRecord, type Entry, type KeyRange } from '../meta/meta.ts'
import { uploadFormat } from '../model/upload.ts'
import type { Version } from '../model/version.ts'
import { versionFormat } from '../model/version-record.ts'
import {
  abortOf,
  type Due,
  expirationOf,
  isDue,
  type LifecycleRule,
  loneMarkerExpirationOf,
  noncurrentExpirationOf,
  prefixesOf,
} from '../rules/lifecycle.ts'
import { keyRanges, parseRecordKey, recordKey } from '../store/commit/record-keys.ts'
import { rangeOf } from '../store/listing/listing-page.ts'
import { expiringOf } from '../store/objects/expiry.ts'
import type { StoreContext } from '../store/store-context.ts'
import { readPage } from './records.ts'

const PAGE = 250

/** A bucket and its rules. */
export interface BucketRules {
  readonly bucket: string
  readonly rules: readonly LifecycleRule[]
}

/** The fields of a version that outlive its record. */
type ExpiringVersion = Pick<Version, 'id' | 'seq' | 'size' | 'marker' | 'lock'>

export type LifecycleCandidate = { readonly key: string; readonly due: Due } & (
  | { readonly what: 'current' | 'noncurrent' | 'lone marker'; readonly version: ExpiringVersion }
  | { readonly what: 'upload'; readonly uploadId: string }
)

const kept = ({ id, seq, size, marker, lock }: Version): ExpiringVersion => ({ id, seq, size, marker, lock })

/** The candidates of one page of records, and the time they were evaluated at. */
interface CandidatePage {
  readonly candidates: readonly LifecycleCandidate[]
  readonly now: number
  /** Records read. */
  readonly records: number
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

export class LifecycleCandidates {
  readonly #context: StoreContext
  readonly #now: () => Promise<number>
  readonly #onDamage: (error: unknown) => void

  /** `now` is asked for every page. A damaged record is reported and skipped. */
  constructor(context: StoreContext, now: () => Promise<number>, onDamage: (error: unknown) => void) {
    this.#context = context
    this.#now = now
    this.#onDamage = onDamage
  }

  async *of(target: BucketRules): AsyncGenerator<CandidatePage> {
    yield* this.#current(target)
    yield* this.#older(target)
    yield* this.#markers(target)
    yield* this.#uploads(target)
  }

  async *#current({ bucket, rules }: BucketRules): AsyncGenerator<CandidatePage> {
    for await (const { page, now } of this.#records('o', bucket, prefixesOf(rules, 'current'))) {
      const candidates: LifecycleCandidate[] = []
      for (const entry of page) {
        const key = parseRecordKey(entry.key).name
        const version = versionFormat.decode(entry.value)
        const due = expirationOf(rules, expiringOf(key, version))
        if (due !== undefined && isDue(due, now)) candidates.push({ what: 'current', key, version: kept(version), due })
      }
      yield { candidates, now, records: page.length }
    }
  }

  async *#older({ bucket, rules }: BucketRules): AsyncGenerator<CandidatePage> {
    let before: Newer | undefined
    for await (const { page, now } of this.#records('v', bucket, prefixesOf(rules, 'noncurrent'))) {
      const candidates: LifecycleCandidate[] = []
      for (const entry of page) {
        const key = parseRecordKey(entry.key).name
        const version = versionFormat.decode(entry.value)
        const newer: Newer | undefined = before?.key === key ? before : await this.#currentOf(bucket, key)
        before = { key, modifiedAt: version.modifiedAt, others: newer === undefined ? 0 : newer.others + 1 }
        if (newer === undefined) continue
        const of = { ...expiringOf(key, version), marker: version.marker, since: newer.modifiedAt, newer: newer.others }
        const due = noncurrentExpirationOf(rules, of)
        if (due === undefined || !isDue(due, now)) continue
        candidates.push({ what: 'noncurrent', key, version: kept(version), due })
      }
      yield { candidates, now, records: page.length }
    }
  }

  /** Undefined when the newest version is a delete marker, which is stored among the older ones, or damaged. */
  async #currentOf(bucket: string, key: string): Promise<Newer | undefined> {
    const entry = await this.#undamaged(() => this.#context.meta.get(recordKey.current(bucket, key)))
    if (entry === undefined) return undefined
    return { key, modifiedAt: versionFormat.decode(entry.value).modifiedAt, others: 0 }
  }

  async *#markers({ bucket, rules }: BucketRules): AsyncGenerator<CandidatePage> {
    for await (const { page, now } of this.#records('h', bucket, prefixesOf(rules, 'marker'))) {
      const candidates: LifecycleCandidate[] = []
      for (const entry of page) {
        const key = parseRecordKey(entry.key).name
        const versions = await this.#undamaged(() => this.#context.meta.scan(keyRanges.olderOf(bucket, key), 2))
        const [only, another] = versions ?? []
        if (only === undefined || another !== undefined) continue
        const version = versionFormat.decode(only.value)
        const due = version.marker ? loneMarkerExpirationOf(rules, key, version.modifiedAt) : undefined
        if (due === undefined || !isDue(due, now)) continue
        candidates.push({ what: 'lone marker', key, version: kept(version), due })
      }
      yield { candidates, now, records: page.length }
    }
  }

  async *#uploads({ bucket, rules }: BucketRules): AsyncGenerator<CandidatePage> {
    for await (const { page, now } of this.#records('u', bucket, prefixesOf(rules, 'upload'))) {
      const candidates: LifecycleCandidate[] = []
      for (const entry of page) {
        const { key, id, initiatedAt } = uploadFormat.decode(entry.value)
        const due = abortOf(rules, key, initiatedAt)
        if (due === undefined || !isDue(due, now)) continue
        candidates.push({ what: 'upload', key, uploadId: id.toString('hex'), due })
      }
      yield { candidates, now, records: page.length }
    }
  }

  /** Undefined for a damaged record, which is reported; the commit of an expiry that depends on it fails. */
  async #undamaged<T>(read: () => MaybePromise<T>): Promise<T | undefined> {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof DamagedRecord)) throw error
      this.#onDamage(error)
      return undefined
    }
  }

  /** Pages of records of one kind with these prefixes. */
  async *#records(kind: string, bucket: string, prefixes: readonly string[]): AsyncGenerator<RecordPage> {
    for (const prefix of prefixes) {
      const range: KeyRange = rangeOf(kind, { bucket, prefix, limit: PAGE })
      for (let start: Buffer | undefined = range.start; start !== undefined; ) {
        const page = await readPage(this.#context, { start, end: range.end }, PAGE)
        if (page.damaged !== undefined) this.#onDamage(page.damaged)
        yield { page: page.entries, now: await this.#now() }
        start = page.next
      }
    }
  }
}

/**
 * Permission is judged before the effect, and a body may take long in between. Behind this, a request finds only what
 * it was judged on: a bucket that was removed and made again by somebody else is not there, and an object that got
 * another owner, other grants or other tags is not touched. Whoever meets that is judged anew, or told to come again.
 */
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Entry, KeyRange, Meta, Minitransaction, Projection, Verification } from '../../meta/meta.ts'
import { decodeBucket, decodeVersion } from './decoded-records.ts'
import { isBucketScoped, isDocument, recordKey } from './record-keys.ts'
import { mapKeyOf, type RepeatableReads } from './repeatable-reads.ts'

/** An object is not as it was when the permission was judged. */
export class AuthorizationStale extends Error {
  constructor() {
    super('what the permission was judged on has changed')
    this.name = 'FactsChanged'
  }
}

/** What a decision about an object depends on. */
const dependsOn = (entry: Entry | undefined): string => {
  if (entry === undefined) return ''
  const { owner, attributes } = decodeVersion(entry)
  return JSON.stringify([owner, attributes.grants, attributes.tags])
}

export class AuthorizedView implements Meta {
  readonly #meta: Meta
  readonly #facts: RepeatableReads
  readonly #onlyReads: boolean
  /** What was judged need not be read again, as long as nothing is missing. */
  #isEnough: boolean
  /** The ids that were judged; undefined where there was no bucket. */
  readonly #buckets = new Map<string, string | undefined>()
  readonly #objects = new Set<string>()

  /**
   * A request that only reads, and whose bytes cannot have gone since, gets what it was judged on. No commit tells it
   * that the bucket is still the same; so that is looked at behind everything else that it reads.
   */
  constructor(meta: Meta, facts: RepeatableReads, onlyReads = false) {
    this.#meta = meta
    this.#facts = facts
    this.#onlyReads = onlyReads
    this.#isEnough = onlyReads
  }

  /** From here on the bucket that was judged first, or none of its name. */
  expectBucket(name: string, id: string | undefined): void {
    const address = mapKeyOf(recordKey.bucket(name))
    if (!this.#buckets.has(address)) this.#buckets.set(address, id)
  }

  /** From here on the current version of this key as it was judged, or that there is none. */
  expectObject(bucket: string, key: string): void {
    this.#objects.add(mapKeyOf(recordKey.current(bucket, key)))
  }

  get(key: Buffer): MaybePromise<Entry | undefined> {
    const name = mapKeyOf(key)
    const judged = this.#facts.cached(name)
    // The bucket was read first: that it is still there tells whose all the rest is. Versions are looked for by way of
    // it, documents are not.
    const isKnown = this.#isEnough && judged !== undefined && !this.#buckets.has(name)
    if (isKnown) return isDocument(key) ? this.#ofJudged(judged) : judged
    const entry = this.#meta.get(key, judged)
    const found =
      entry instanceof Promise
        ? entry.then(read => this.#asJudged(name, judged, read))
        : this.#asJudged(name, judged, entry)
    return this.#onlyReads && isBucketScoped(key) ? this.#ofJudged(found) : found
  }

  /** Returns what was read, if every bucket is still the one that the permission was judged on. */
  async #ofJudged<T>(found: MaybePromise<T>): Promise<T> {
    if (!this.#onlyReads) return found
    const buckets = [...this.#buckets]
    const value = await found
    for (const [name, id] of buckets) if (id !== undefined) await this.#confirm(name, id)
    return value
  }

  async #confirm(name: string, id: string): Promise<void> {
    const entry = await this.#meta.get(Buffer.from(name, 'latin1'), this.#facts.cached(name))
    if (entry === undefined || decodeBucket(entry).id !== id) throw new AuthorizationStale()
  }

  #asJudged(name: string, judged: Entry | undefined, entry: Entry | undefined): Entry | undefined {
    // Records may have moved between two reads: if one is gone, all of them are read again.
    if (entry === undefined) this.#isEnough = false
    // The usual case. What was made of the record when it was judged need not be made again.
    const isSame = entry !== undefined && entry.stamp === judged?.stamp
    const found = isSame ? judged : entry
    if (this.#buckets.has(name)) {
      return found !== undefined && decodeBucket(found).id === this.#buckets.get(name) ? found : undefined
    }
    if (!isSame && this.#objects.has(name) && dependsOn(entry) !== dependsOn(judged)) throw new AuthorizationStale()
    return found
  }

  async scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]> {
    return this.#ofJudged(this.#meta.scan(range, limit, reverse))
  }

  async scanMap<T>(range: KeyRange, limit: number, make: Projection<T>, verify?: Verification): Promise<readonly T[]> {
    return this.#ofJudged(this.#meta.scanMap(range, limit, make, verify))
  }

  commit(tx: Minitransaction): Promise<boolean> {
    return this.#meta.commit(tx)
  }

  close(): Promise<void> {
    return this.#meta.close()
  }
}

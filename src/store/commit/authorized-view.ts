/**
 * A request is authorized before it takes effect, and its body may take long to arrive in between. Through this view a
 * request sees only the state it was authorized on: a bucket that was removed and recreated is absent, and an object
 * whose owner, grants or tags have changed raises `AuthorizationStale`, so that the request is authorized again or the
 * client retries.
 */
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Entry, KeyRange, Meta, Minitransaction, Projection, Verification } from '../../meta/meta.ts'
import { decodeBucket, decodeVersion } from './decoded-records.ts'
import { isBucketScoped, isDocument, recordKey } from './record-keys.ts'
import { mapKeyOf, type RepeatableReads } from './repeatable-reads.ts'

/** An object changed after the request was authorized. */
export class AuthorizationStale extends Error {
  constructor() {
    super('the state the request was authorized on has changed')
    this.name = 'AuthorizationStale'
  }
}

/** The parts of an object record that an access decision depends on. */
const accessFacts = (entry: Entry | undefined): string => {
  if (entry === undefined) return ''
  const { owner, attributes } = decodeVersion(entry)
  return JSON.stringify([owner, attributes.grants, attributes.tags])
}

export class AuthorizedView implements Meta {
  readonly #meta: Meta
  readonly #reads: RepeatableReads
  readonly #isReadOnly: boolean
  /** True while authorized reads may be served from the cache: nothing was missing so far. */
  #useCache: boolean
  /** Bucket ids the request was authorized on; undefined where no bucket existed. */
  readonly #buckets = new Map<string, string | undefined>()
  readonly #objects = new Set<string>()

  /**
   * A read-only request whose bytes cannot be freed meanwhile is served the records it was authorized on. It has no
   * commit that would detect a replaced bucket, so the bucket is verified after every other read.
   */
  constructor(meta: Meta, reads: RepeatableReads, isReadOnly = false) {
    this.#meta = meta
    this.#reads = reads
    this.#isReadOnly = isReadOnly
    this.#useCache = isReadOnly
  }

  /** Pins the bucket of this name to the one seen first; a later bucket of the same name is treated as absent. */
  expectBucket(name: string, id: string | undefined): void {
    const mapKey = mapKeyOf(recordKey.bucket(name))
    if (!this.#buckets.has(mapKey)) this.#buckets.set(mapKey, id)
  }

  /** Pins the current version of this key, or its absence, to the state the request was authorized on. */
  expectObject(bucket: string, key: string): void {
    this.#objects.add(mapKeyOf(recordKey.current(bucket, key)))
  }

  get(key: Buffer): MaybePromise<Entry | undefined> {
    const name = mapKeyOf(key)
    const authorized = this.#reads.cached(name)
    // The bucket was read first, and its identity implies that of its versions. Documents are not read through the
    // bucket and need the check.
    const isKnown = this.#useCache && authorized !== undefined && !this.#buckets.has(name)
    if (isKnown) return isDocument(key) ? this.#verified(authorized) : authorized
    const entry = this.#meta.get(key, authorized)
    const found =
      entry instanceof Promise
        ? entry.then(read => this.#asAuthorized(name, authorized, read))
        : this.#asAuthorized(name, authorized, entry)
    return this.#isReadOnly && isBucketScoped(key) ? this.#verified(found) : found
  }

  /** Returns what was read, if every bucket is still the one the request was authorized on. */
  async #verified<T>(found: MaybePromise<T>): Promise<T> {
    if (!this.#isReadOnly) return found
    const buckets = [...this.#buckets]
    const value = await found
    for (const [name, id] of buckets) if (id !== undefined) await this.#verifyBucket(name, id)
    return value
  }

  async #verifyBucket(name: string, id: string): Promise<void> {
    const entry = await this.#meta.get(Buffer.from(name, 'latin1'), this.#reads.cached(name))
    if (entry === undefined || decodeBucket(entry).id !== id) throw new AuthorizationStale()
  }

  #asAuthorized(name: string, authorized: Entry | undefined, entry: Entry | undefined): Entry | undefined {
    // Records may have moved between two reads: if one is gone, all of them are read again.
    if (entry === undefined) this.#useCache = false
    // In the common case the stamp is unchanged and the decoded record is reused.
    const isSame = entry !== undefined && entry.stamp === authorized?.stamp
    const found = isSame ? authorized : entry
    if (this.#buckets.has(name)) {
      return found !== undefined && decodeBucket(found).id === this.#buckets.get(name) ? found : undefined
    }
    if (!isSame && this.#objects.has(name) && accessFacts(entry) !== accessFacts(authorized))
      throw new AuthorizationStale()
    return found
  }

  async scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]> {
    return this.#verified(this.#meta.scan(range, limit, reverse))
  }

  async scanMap<T>(range: KeyRange, limit: number, make: Projection<T>, verify?: Verification): Promise<readonly T[]> {
    return this.#verified(this.#meta.scanMap(range, limit, make, verify))
  }

  commit(tx: Minitransaction): Promise<boolean> {
    return this.#meta.commit(tx)
  }

  close(): Promise<void> {
    return this.#meta.close()
  }
}

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

/** The last converted key of each kind, indexed by the kind's byte. */
const lastByKind: { readonly key: Buffer; readonly name: string }[] = Array.from({ length: 256 }, () => ({
  key: Buffer.alloc(0),
  name: '',
}))

/** A record key as a Map key. */
export function mapKeyOf(key: Buffer): string {
  const kind = key[0]!
  if (lastByKind[kind]!.key !== key) lastByKind[kind] = { key, name: key.toString('latin1') }
  return lastByKind[kind]!.name
}

/**
 * Reads each record that authorization depends on once per request, so that all rules see the same state. Later steps
 * go through `AuthorizedView`, which verifies that the state still holds.
 */
export class RepeatableReads implements Meta {
  readonly #meta: Meta
  readonly #cache: RecordCache
  readonly #seen = new Map<string, Entry | undefined>()
  #remembers = true

  constructor(meta: Meta, cache: RecordCache = new RecordCache()) {
    this.#meta = meta
    this.#cache = cache
  }

  /** The record as read for authorization; undefined also if it was never read. */
  cached(name: string): Entry | undefined {
    return this.#seen.get(name)
  }

  /** Disables the cache from here on: records read one after the other may never have coexisted in that combination. */
  readFresh(): void {
    this.#remembers = false
  }

  get(key: Buffer): MaybePromise<Entry | undefined> {
    const name = mapKeyOf(key)
    const before = this.#seen.get(name)
    if (this.#remembers && (before !== undefined || this.#seen.has(name))) return before
    const known = this.#cache.get(name)
    const entry = this.#meta.get(key, known)
    return entry instanceof Promise
      ? entry.then(found => this.#remember(name, known, found))
      : this.#remember(name, known, entry)
  }

  #remember(name: string, known: Entry | undefined, entry: Entry | undefined): Entry | undefined {
    this.#seen.set(name, entry)
    if (entry !== undefined && entry !== known) this.#cache.set(name, entry)
    return entry
  }

  scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]> {
    return this.#meta.scan(range, limit, reverse)
  }

  scanMap<T>(range: KeyRange, limit: number, make: Projection<T>, verify?: Verification): Promise<readonly T[]> {
    return this.#meta.scanMap(range, limit, make, verify)
  }

  /** Authorization only reads. */
  commit(): never {
    throw new Error('authorization must not write')
  }

  close(): Promise<void> {
    return this.#meta.close()
  }
}

const ENTRIES_MAX = 1_000
/** Larger values are objects with inline bytes and are not cached. */
const VALUE_BYTES_MAX = 1_024

/**
 * Recently read small records by key, above all the bucket record that every request reads. An entry is never trusted
 * on its own; while its stamp is current it saves reading and decoding the record again.
 */
export class RecordCache {
  readonly #entries = new Map<string, Entry>()

  get(name: string): Entry | undefined {
    return this.#entries.get(name)
  }

  set(name: string, entry: Entry): void {
    if (entry.value.length > VALUE_BYTES_MAX) return
    // An existing entry is replaced in place; otherwise the oldest is evicted.
    if (this.#entries.size >= ENTRIES_MAX && !this.#entries.has(name)) {
      this.#entries.delete(this.#entries.keys().next().value!)
    }
    // Copied, because drivers slice values from larger buffers and one record would retain its whole buffer.
    this.#entries.set(name, { key: entry.key, value: Buffer.from(entry.value), stamp: entry.stamp })
  }
}

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

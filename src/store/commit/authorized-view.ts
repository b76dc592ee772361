/**
 * A request is authorized before it takes effect, and its body may take long to arrive in between. Through this view a
 * request sees only the state it was authorized on: a bucket that was removed and recreated is absent, and an object
 * whose owner, grants or tags have changed raises `AuthorizationStale`, so that the request is authorized again or the
 * client retries.
 */
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import {
  copyOfView,
  type Entry,
  type KeyedRead,
  type KeyRange,
  type Meta,
  type Minitransaction,
  type Projection,
  type RemoteReads,
  type ScanWithKeys,
  scanMapHeads,
  type Verification,
} from '../../meta/meta.ts'
import type { Version } from '../../model/version.ts'
import type { ObjectFacts } from '../../rules/access/evaluate.ts'
import { isBucketScoped, isDocument, keyRanges, recordKey } from './record-keys.ts'
import { decodeBucket, decodeVersion } from './transaction.ts'

interface ObjectKey {
  readonly bucket: string
  readonly key: string
}

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

/** Records by map key, all read at one point in time; undefined for a key without a record. */
export type ReadAhead = ReadonlyMap<string, Entry | undefined>

const NOTHING_AHEAD: ReadAhead = new Map()

/**
 * Reads each record that authorization depends on once per request, so that all rules see the same state. Later steps
 * go through `AuthorizedView`, which verifies that the state still holds.
 */
export class RepeatableReads implements Meta {
  readonly #meta: Meta
  readonly #cache: RecordCache
  readonly #ahead: ReadAhead
  readonly #seen = new Map<string, Entry | undefined>()
  #isRepeatable = true
  /** False once a record was read later than those read ahead, so that they may not have coexisted. */
  #isConsistent = true

  constructor(meta: Meta, cache: RecordCache = new RecordCache(), ahead: ReadAhead = NOTHING_AHEAD) {
    this.#meta = meta
    this.#cache = cache
    this.#ahead = ahead
  }

  /** The record as read for authorization; undefined also if it was never read. */
  cached(name: string): Entry | undefined {
    const seen = this.#seen.get(name)
    if (seen !== undefined || this.#ahead === NOTHING_AHEAD) return seen
    return this.#seen.has(name) ? undefined : this.#ahead.get(name)
  }

  /** True when this record and all others read so far existed at the same time. */
  isConsistent(name: string): boolean {
    return this.#isConsistent && this.#ahead.has(name)
  }

  /** Disables the cache from here on: records read one after the other may never have coexisted in that combination. */
  readFresh(): void {
    this.#isRepeatable = false
    this.#isConsistent = false
  }

  get(key: Buffer): MaybePromise<Entry | undefined> {
    const name = mapKeyOf(key)
    const before = this.#seen.get(name)
    if (this.#isRepeatable && (before !== undefined || this.#seen.has(name))) return before
    if (this.#ahead !== NOTHING_AHEAD && this.#isRepeatable && this.#ahead.has(name)) return this.#ahead.get(name)
    this.#isConsistent = false
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

interface RecordCacheLimits {
  readonly entriesMax: number
  readonly valueBytesMax: number
}

/** For an engine with its records in memory. Larger values are objects with inline bytes and are not cached. */
const LOCAL_LIMITS: RecordCacheLimits = { entriesMax: 1_000, valueBytesMax: 1_024 }
/** For an engine behind a network, where objects with inline bytes are worth caching. At most 40 MiB. */
export const REMOTE_LIMITS: RecordCacheLimits = { entriesMax: 8_000, valueBytesMax: 5 * 1_024 }

/**
 * Recently read small records by key, above all the bucket record that every request reads. An entry is never trusted
 * on its own; while its stamp is current it saves reading and decoding the record again.
 */
export class RecordCache {
  readonly #limits: RecordCacheLimits
  readonly #entries = new Map<string, Entry>()

  constructor(limits: RecordCacheLimits = LOCAL_LIMITS) {
    this.#limits = limits
  }

  get(name: string): Entry | undefined {
    return this.#entries.get(name)
  }

  set(name: string, entry: Entry): void {
    if (entry.value.length > this.#limits.valueBytesMax) return
    // An existing entry is replaced in place; otherwise the oldest is evicted.
    if (this.#entries.size >= this.#limits.entriesMax && !this.#entries.has(name)) {
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

function assertBucket(id: string, entry: Entry | undefined): void {
  if (entry === undefined || decodeBucket(entry).id !== id) throw new AuthorizationStale()
}

/** The parts of a version that an access decision depends on. */
export const factsOf = ({ owner, attributes: { grants, tags } }: Version): ObjectFacts => ({
  ownerCanonicalId: owner,
  grants,
  tags,
})

/** Empty where there is no object. */
const factsText = (facts: ObjectFacts | undefined): string => (facts === undefined ? '' : JSON.stringify(facts))

const factsIn = (entry: Entry | undefined): string =>
  factsText(entry === undefined ? undefined : factsOf(decodeVersion(entry)))

/** A version named by its id. It moves between the records of its key, and another one may take its place as `null`. */
interface NamedVersion {
  readonly id: string
  readonly current: string
  /** The beginning of the names of older versions' records. */
  readonly older: string
  readonly facts: string
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
  readonly #versions: NamedVersion[] = []

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

  /** Pins the version with this id, or its absence, to the state the request was authorized on. */
  expectVersion({ bucket, key }: ObjectKey, id: string, facts: ObjectFacts | undefined): void {
    const current = mapKeyOf(recordKey.current(bucket, key))
    if (this.#versions.some(known => known.id === id && known.current === current)) return
    const older = keyRanges.olderOf(bucket, key).start.toString('latin1')
    this.#versions.push({ id, current, older, facts: factsText(facts) })
  }

  /** Absent where the engine has none. */
  get remote(): RemoteReads | undefined {
    const { remote } = this.#meta
    return (
      remote && {
        getMany: reads => this.#getMany(remote, reads),
        scanWithKeys: (range, limit, reads, headsOnly) => this.#scanWithKeys(remote, range, limit, reads, headsOnly),
      }
    )
  }

  get(key: Buffer): MaybePromise<Entry | undefined> {
    const name = mapKeyOf(key)
    const authorized = this.#reads.cached(name)
    if (this.#useCache && authorized !== undefined) {
      if (this.#reads.isConsistent(name)) return this.#asAuthorized(name, authorized, authorized)
      // The bucket was read first, and its identity implies that of its versions. Documents are not read through the
      // bucket and need the check.
      if (!this.#buckets.has(name)) return isDocument(key) ? this.#verified(authorized) : authorized
    }
    const mustVerify = this.#isReadOnly && isBucketScoped(key)
    const { remote } = this.#meta
    if (mustVerify && remote !== undefined) return this.#getMany(remote, [{ key }]).then(([entry]) => entry)
    const entry = this.#meta.get(key, authorized)
    const found =
      entry instanceof Promise
        ? entry.then(read => this.#asAuthorized(name, authorized, read))
        : this.#asAuthorized(name, authorized, entry)
    return mustVerify ? this.#verified(found) : found
  }

  /** Reads records together with the buckets that they must belong to. */
  async #getMany(remote: RemoteReads, reads: readonly KeyedRead[]): Promise<readonly (Entry | undefined)[]> {
    const known = reads.map(({ key }) => ({ key, known: this.#reads.cached(mapKeyOf(key)) }))
    const buckets = this.#bucketReads()
    const entries = await remote.getMany([...known, ...buckets])
    this.#assertBuckets(buckets, entries.slice(known.length))
    return known.map((read, index) => this.#asAuthorized(mapKeyOf(read.key), read.known, entries[index]))
  }

  async #scanWithKeys(
    remote: RemoteReads,
    range: KeyRange,
    limit: number,
    reads: readonly KeyedRead[] = [],
    headsOnly = false,
  ): Promise<ScanWithKeys> {
    const known = reads.map(({ key }) => ({ key, known: this.#reads.cached(mapKeyOf(key)) }))
    const buckets = this.#bucketReads()
    const { entries, records } = await remote.scanWithKeys(range, limit, [...known, ...buckets], headsOnly)
    this.#assertBuckets(buckets, records.slice(known.length))
    const found = known.map((read, index) => this.#asAuthorized(mapKeyOf(read.key), read.known, records[index]))
    return { entries, records: found }
  }

  /** Reads of the buckets that a read-only request must find unchanged. */
  #bucketReads(): readonly (KeyedRead & { readonly id: string })[] {
    if (!this.#isReadOnly) return []
    const reads = []
    for (const [name, id] of this.#buckets) {
      if (id !== undefined) reads.push({ key: Buffer.from(name, 'latin1'), known: this.#reads.cached(name), id })
    }
    return reads
  }

  #assertBuckets(expected: readonly { readonly id: string }[], found: readonly (Entry | undefined)[]): void {
    for (const [index, { id }] of expected.entries()) assertBucket(id, found[index])
  }

  /** Returns what was read, if every bucket is still the one the request was authorized on. */
  async #verified<T>(found: MaybePromise<T>): Promise<T> {
    const buckets = this.#bucketReads()
    const value = await found
    for (const { key, known, id } of buckets) assertBucket(id, await this.#meta.get(key, known))
    return value
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
    if (!isSame && this.#objects.has(name) && factsIn(entry) !== factsIn(authorized)) throw new AuthorizationStale()
    if (!isSame && entry !== undefined && this.#versions.length > 0) this.#assertVersion(name, entry)
    return found
  }

  #assertVersion(name: string, entry: Entry): void {
    for (const { id, current, older, facts } of this.#versions) {
      if (name !== current && !name.startsWith(older)) continue
      const version = decodeVersion(entry)
      const found = version.marker ? undefined : factsOf(version)
      if (version.id === id && factsText(found) !== facts) throw new AuthorizationStale()
    }
  }

  async scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]> {
    const { remote } = this.#meta
    if (remote !== undefined && this.#isReadOnly && reverse !== true)
      return (await this.#scanWithKeys(remote, range, limit)).entries.map(copyOfView)
    return this.#verified(this.#meta.scan(range, limit, reverse))
  }

  async scanMap<T>(range: KeyRange, limit: number, make: Projection<T>, verify?: Verification): Promise<readonly T[]> {
    const { remote } = this.#meta
    if (remote === undefined || !this.#isReadOnly) return this.#verified(this.#meta.scanMap(range, limit, make, verify))
    if (verify !== undefined) {
      const { entries } = await this.#scanWithKeys(remote, range, limit, [], true)
      const projected = scanMapHeads(entries, make, verify)
      if (projected !== undefined) return projected
    }
    const { entries } = await this.#scanWithKeys(remote, range, limit)
    return entries.map((entry, index) => make(entry, index, false))
  }

  commit(tx: Minitransaction): Promise<boolean> {
    return this.#meta.commit(tx)
  }

  close(): Promise<void> {
    return this.#meta.close()
  }
}

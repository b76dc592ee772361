/**
 * The read–decide–commit loop, the only way to change anything. An attempt reads through its transaction, which records
 * a check for every read, and collects writes; the commit succeeds only if no checked record has changed. Otherwise the
 * attempt runs again. Buckets and versions are decoded once per read, however many callers use them.
 */
import type { Clock } from '../../lib/clock.ts'
import type { RecordDecoder } from '../../lib/codec.ts'
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Random } from '../../lib/random.ts'
import { type Check, type Entry, type Meta, MetaFull, type RemoteReads, type Write } from '../../meta/meta.ts'
import { type Bucket, bucketFormat } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import { isZeroDelta, noUsage, USAGE_FIELDS, type UsageDelta } from '../../model/usage.ts'
import type { Version } from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'
import { isBucketName } from '../../rules/naming.ts'
import type { BucketDelta, UsageCounters } from '../usage/usage-counters.ts'
import { recordKey } from './record-keys.ts'
import type { TransactionDeadline } from './transaction-deadline.ts'

const ATTEMPTS_MAX = 200
const BACKOFF_MS_MAX = 50

export class Transaction {
  readonly #meta: Meta
  readonly checks: Check[] = []
  readonly writes: Write[] = []
  /** The change to the usage of its bucket; a transaction never changes two. */
  usage: BucketDelta | undefined
  #fetched: readonly { readonly key: Buffer; readonly entry: Entry | undefined }[] | undefined

  constructor(meta: Meta) {
    this.#meta = meta
  }

  /** Reads records in one round trip for `get` to find, where the engine is behind a network. */
  prefetch(keys: () => readonly Buffer[]): Promise<void> | undefined {
    const { remote } = this.#meta
    return remote && this.#fetch(remote, keys())
  }

  async #fetch(remote: RemoteReads, keys: readonly Buffer[]): Promise<void> {
    const entries = await remote.getMany(keys.map(key => ({ key })))
    this.#fetched = keys.map((key, index) => ({ key, entry: entries[index] }))
  }

  /** Reads a record and checks it at commit. */
  get(key: Buffer): MaybePromise<Entry | undefined> {
    const fetched = this.#fetched?.find(read => read.key.equals(key))
    if (fetched !== undefined) return this.#checked(key, fetched.entry)
    const found = this.#meta.get(key)
    return found instanceof Promise ? found.then(entry => this.#checked(key, entry)) : this.#checked(key, found)
  }

  #checked(key: Buffer, entry: Entry | undefined): Entry | undefined {
    this.checks.push({ key, stamp: entry?.stamp })
    return entry
  }

  /** Checks a record that was read another way, for example by a scan. */
  check(entry: Entry): void {
    this.checks.push({ key: entry.key, stamp: entry.stamp })
  }

  /** True when no checked record has changed, so that all of them existed at the same time. */
  async validate(): Promise<boolean> {
    if (this.checks.length < 2) return true
    const { remote } = this.#meta
    if (remote !== undefined) {
      const entries = await remote.getMany(this.checks)
      return this.checks.every(({ stamp }, index) => entries[index]?.stamp === stamp)
    }
    for (const { key, stamp } of this.checks) if ((await this.#meta.get(key))?.stamp !== stamp) return false
    return true
  }

  put(key: Buffer, value: Buffer): void {
    this.#write({ key, value })
  }

  remove(key: Buffer): void {
    this.#write({ key, value: undefined })
  }

  /** Merges another transaction, so that both commit or neither does. */
  merge(other: Transaction): void {
    this.checks.push(...other.checks)
    for (const write of other.writes) this.#write(write)
    if (other.usage === undefined) return
    const own = this.usageOf(other.usage.bucketId)
    for (const field of USAGE_FIELDS) own[field] += other.usage[field]
  }

  /** The usage delta that the commit adds to the bucket's counters. */
  usageOf(bucketId: string): UsageDelta {
    this.usage ??= { bucketId, ...noUsage() }
    if (this.usage.bucketId !== bucketId) throw new Error('a transaction changes the usage of one bucket')
    return this.usage
  }

  #write(write: Write): void {
    const same = this.writes.findIndex(other => other.key.equals(write.key))
    if (same < 0) this.writes.push(write)
    else this.writes[same] = write
  }
}

export interface TransactionContext {
  readonly meta: Meta
  readonly clock: Clock
  readonly random: Random
  /** Absent where no versions or uploads change. */
  readonly usage?: UsageCounters
  /** Present for a request on an engine behind a network. */
  readonly deadline?: TransactionDeadline | undefined
}

export function transact<T>(context: TransactionContext, attempt: (tx: Transaction) => Promise<T>): Promise<T> {
  const work = runAttempts(context, attempt)
  return context.deadline === undefined ? work : context.deadline.watch(work)
}

async function runAttempts<T>(context: TransactionContext, attempt: (tx: Transaction) => Promise<T>): Promise<T> {
  for (let tries = 1; tries <= ATTEMPTS_MAX; tries++) {
    context.deadline?.assertPending()
    const tx = new Transaction(context.meta)
    try {
      const result = await attempt(tx)
      const isReadOnly = tx.writes.length === 0
      if (isReadOnly ? await tx.validate() : await commit(context, tx)) return result
    } catch (error) {
      // Records are read one by one while other transactions change them: a fault counts only if its reads are still
      // valid.
      if (!(error instanceof Fault) || (await tx.validate())) throw error
    }
    // The first conflicts are retried at once because the winner has already committed. Jitter spreads later retries.
    if (tries > 3) await context.clock.sleep(Math.ceil(context.random.fraction() * Math.min(BACKOFF_MS_MAX, tries)))
  }
  throw new Fault('OperationAborted')
}

export async function commit(context: TransactionContext, tx: Transaction): Promise<boolean> {
  try {
    const { usage: delta } = tx
    // An overwrite of the same size changes no usage.
    const isCounted = delta !== undefined && !isZeroDelta(delta)
    return await (isCounted ? commitCounted(context, tx, delta) : context.meta.commit(tx))
  } catch (error) {
    if (error instanceof MetaFull) throw new Fault('InsufficientStorage')
    throw error
  }
}

/** The counters change in the same commit, or not at all. */
async function commitCounted(
  { usage, meta }: TransactionContext,
  tx: Transaction,
  delta: BucketDelta,
): Promise<boolean> {
  if (usage === undefined) throw new Error('a transaction that changes versions must count usage')
  const begun = usage.begin(meta, delta)
  const slot = begun instanceof Promise ? await begun : begun
  tx.writes.push(slot.write)
  try {
    const isCommitted = await meta.commit(tx)
    usage.settle(slot, delta, isCommitted)
    return isCommitted
  } catch (error) {
    // After any other failure the stored value is unknown. This process never uses the slot again, so either value is
    // correct.
    if (error instanceof MetaFull || error instanceof EngineUnavailable) usage.settle(slot, delta, false)
    throw error
  }
}

const cachedDecoder =
  <T>(format: RecordDecoder<T>) =>
  (entry: Entry): T => {
    entry.decoded ??= format.decode(entry.value)
    return entry.decoded as T
  }

/** Each decoder accepts only its own kind of record: an entry caches the first decoded form. */
export const decodeBucket: (entry: Entry) => Bucket = cachedDecoder(bucketFormat)
export const decodeVersion: (entry: Entry) => Version = cachedDecoder(versionFormat)

/** A stored version and the record it was read from. */
export interface StoredVersion {
  readonly entry: Entry
  readonly version: Version
}

/**
 * Reads a bucket for a write and checks it at commit. A write into a closing bucket reopens it, since it is no longer
 * empty.
 */
export async function bucketForWrite(tx: Transaction, name: string): Promise<Bucket> {
  const bucket = await bucketForRead(tx, name)
  if (!bucket.closing) return bucket
  const open = { ...bucket, closing: false }
  tx.put(recordKey.bucket(name), bucketFormat.encode(open))
  return open
}

export function bucketForRead(tx: Transaction, name: string): MaybePromise<Bucket> {
  const entry = isBucketName(name) ? tx.get(recordKey.bucket(name)) : undefined
  return entry instanceof Promise ? entry.then(found => requireBucket(name, found)) : requireBucket(name, entry)
}

/** Reads a bucket without a transaction; synchronous where the engine has the record in memory. */
export function findBucket(meta: Meta, name: string): MaybePromise<Bucket> {
  const entry = isBucketName(name) ? meta.get(recordKey.bucket(name)) : undefined
  return entry instanceof Promise ? entry.then(found => requireBucket(name, found)) : requireBucket(name, entry)
}

function requireBucket(name: string, entry: Entry | undefined): Bucket {
  if (entry === undefined) throw new Fault('NoSuchBucket', { BucketName: name })
  return decodeBucket(entry)
}

/** Buckets and versions as they are stored: each record is decoded once per read, however many callers use it. */
import type { RecordDecoder } from '../../lib/codec.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Entry, Meta } from '../../meta/meta.ts'
import { type Bucket, bucketFormat } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import type { Version } from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'
import { isBucketName } from '../../rules/naming.ts'
import { recordKey } from './record-keys.ts'
import type { Transaction } from './transaction.ts'

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

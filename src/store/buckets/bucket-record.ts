import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Entry, Meta } from '../../meta/meta.ts'
import { type Bucket, bucketFormat } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import { isBucketName } from '../../rules/naming.ts'
import { decodeBucket } from '../commit/decoded-records.ts'
import { recordKey } from '../commit/record-keys.ts'
import type { Transaction } from '../commit/transaction.ts'

/** Reads a bucket that the decision depends on. A writer that finds it closing takes that back: it is not empty. */
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

/** A bucket as it is now, at once where its record is there at once. */
export function findBucket(meta: Meta, name: string): MaybePromise<Bucket> {
  const entry = isBucketName(name) ? meta.get(recordKey.bucket(name)) : undefined
  return entry instanceof Promise ? entry.then(found => requireBucket(name, found)) : requireBucket(name, entry)
}

export function requireBucket(name: string, entry: Entry | undefined): Bucket {
  if (entry === undefined) throw new Fault('NoSuchBucket', { BucketName: name })
  return decodeBucket(entry)
}

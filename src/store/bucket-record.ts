import { after, type Soon } from '../lib/soon.ts'
import type { Entry, Meta } from '../meta/meta.ts'
import { type Bucket, bucketFormat } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import { isBucketName } from '../rules/naming.ts'
import { at } from './addresses.ts'
import type { Decision } from './decision.ts'
import { bucketIn } from './reading.ts'

/** Reads a bucket that the decision depends on. A writer that finds it closing takes that back: it is not empty. */
export async function bucketForWrite(d: Decision, name: string): Promise<Bucket> {
  const bucket = await bucketForRead(d, name)
  if (!bucket.closing) return bucket
  const open = { ...bucket, closing: false }
  d.put(at.bucket(name), bucketFormat.encode(open))
  return open
}

export function bucketForRead(d: Decision, name: string): Soon<Bucket> {
  const entry = isBucketName(name) ? d.get(at.bucket(name)) : undefined
  return entry instanceof Promise ? entry.then(found => bucketOf(name, found)) : bucketOf(name, entry)
}

/** A bucket as it is now, at once where its record is there at once. */
export function findBucket(meta: Meta, name: string): Soon<Bucket> {
  return after(isBucketName(name) ? meta.get(at.bucket(name)) : undefined, entry => bucketOf(name, entry))
}

export function bucketOf(name: string, entry: Entry | undefined): Bucket {
  if (entry === undefined) throw new Fault('NoSuchBucket', { BucketName: name })
  return bucketIn(entry)
}

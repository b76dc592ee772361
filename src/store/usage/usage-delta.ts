/**
 * Adds each change to a bucket's versions and uploads to its usage delta. Called where the records themselves are
 * written, so that no path can change one without the other.
 */
import type { Bucket } from '../../model/bucket.ts'
import type { Version } from '../../model/version.ts'
import type { Transaction } from '../commit/transaction.ts'

type InBucket = Pick<Bucket, 'id'>
type Sized = Pick<Version, 'marker' | 'size'>

/** `by` is 1 for an added version, -1 for a removed one. */
export function versionDelta(tx: Transaction, { id }: InBucket, { marker, size }: Sized, by: 1 | -1): void {
  const usage = tx.usageOf(id)
  if (marker) {
    usage.deleteMarkers += by
    return
  }
  usage.versions += by
  usage.versionBytes += by * size
}

/** `by` is 1 for a version that becomes current, -1 for one that no longer is. */
export function currentDelta(tx: Transaction, { id }: InBucket, { size }: Sized, by: 1 | -1): void {
  const usage = tx.usageOf(id)
  usage.objects += by
  usage.bytes += by * size
}

/** `by` is 1 for a new upload, -1 for one that ends with these bytes in its parts. */
export function uploadDelta(tx: Transaction, { id }: InBucket, storedBytes: number, by: 1 | -1): void {
  const usage = tx.usageOf(id)
  usage.uploads += by
  usage.uploadBytes += by * storedBytes
}

export function partDelta(tx: Transaction, { id }: InBucket, size: number, replacedSize: number): void {
  tx.usageOf(id).uploadBytes += size - replacedSize
}

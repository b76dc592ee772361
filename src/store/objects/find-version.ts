/** Finds a version by id, or the current one of a key, for reads. */
import { Fault } from '../../model/faults.ts'
import { bucketForRead } from '../buckets/bucket-record.ts'
import type { StoredVersion } from '../commit/decoded-records.ts'
import { Transaction, type TransactionContext, transact } from '../commit/transaction.ts'
import { readHead, requireVersion } from './versions.ts'

export interface VersionSelector {
  readonly bucket: string
  readonly key: string
  readonly versionId?: string | undefined
}

export async function locateVersion(tx: Transaction, which: VersionSelector): Promise<StoredVersion> {
  let bucket = bucketForRead(tx, which.bucket)
  if (bucket instanceof Promise) bucket = await bucket
  let head = readHead(tx, bucket, which.key)
  if (head instanceof Promise) head = await head
  return requireVersion(tx, head, which.versionId)
}

export async function findVersion(context: TransactionContext, which: VersionSelector): Promise<StoredVersion> {
  try {
    return await locateVersion(new Transaction(context.meta), which)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    // A version that is found existed; one that is not found may have moved between two reads, so validate.
    return transact(context, tx => locateVersion(tx, which))
  }
}

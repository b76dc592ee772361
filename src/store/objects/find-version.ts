/** Finds a version by its name, or the current one of a key, for whoever only looks. */
import { andThen, type MaybePromise, orElse } from '../../lib/maybe-promise.ts'
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

export function locateVersion(tx: Transaction, which: VersionSelector): MaybePromise<StoredVersion> {
  return andThen(bucketForRead(tx, which.bucket), bucket =>
    andThen(readHead(tx, bucket, which.key), head => requireVersion(tx, head, which.versionId)),
  )
}

/** At once where its records are there at once. */
export function findVersion(context: TransactionContext, which: VersionSelector): MaybePromise<StoredVersion> {
  return orElse(
    () => locateVersion(new Transaction(context.meta), which),
    error => {
      if (!(error instanceof Fault)) throw error
      // A version that is found was there; one that is not may have changed its place between two reads.
      return transact(context, async tx => locateVersion(tx, which))
    },
  )
}

/** What a record says, worked out once for each reading of it, however many look at it. */

import type { Decodes } from '../../lib/codec.ts'
import type { Entry } from '../../meta/meta.ts'
import { type Bucket, bucketFormat } from '../../model/bucket.ts'
import type { Version } from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'

const reader =
  <T>(format: Decodes<T>) =>
  (entry: Entry): T => {
    entry.read ??= format.decode(entry.value)
    return entry.read as T
  }

/** Each for records of its own kind alone: what stands in an entry is what was made of it first. */
export const decodeBucket: (entry: Entry) => Bucket = reader(bucketFormat)
export const decodeVersion: (entry: Entry) => Version = reader(versionFormat)

/** A stored version and the record it was read from. */
export interface StoredVersion {
  readonly entry: Entry
  readonly version: Version
}

/** Decodes a record once per read, however many callers use it. */

import type { RecordDecoder } from '../../lib/codec.ts'
import type { Entry } from '../../meta/meta.ts'
import { type Bucket, bucketFormat } from '../../model/bucket.ts'
import type { Version } from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'

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

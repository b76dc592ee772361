import { bytes, format, struct, text, uint } from '../lib/codec.ts'

/** What became of an upload that was completed: for a client that lost the answer and asks again (R96). */
export interface Completed {
  readonly bucket: string
  readonly key: string
  readonly completedAt: number
  /** The version that was made, and its tag: a null version may have been replaced since. */
  readonly versionId: string
  readonly etag: string
  /** Digest of the list of parts. */
  readonly list: Buffer
}

export const completedFormat = format<Completed>(
  'E1',
  struct<Completed>({ bucket: text, key: text, completedAt: uint, versionId: text, etag: text, list: bytes }),
)

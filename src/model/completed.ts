import { bytes, format, struct, text, uint } from '../lib/codec.ts'

/** The result of a completed upload, for a client that lost the response and retries (R96). */
export interface CompletedUpload {
  readonly bucket: string
  readonly key: string
  readonly completedAt: number
  /** The version created and its tag: a null version may have been replaced since. */
  readonly versionId: string
  readonly etag: string
  /** Digest of the part list. */
  readonly list: Buffer
}

export const completedFormat = format<CompletedUpload>(
  'E1',
  struct<CompletedUpload>({ bucket: text, key: text, completedAt: uint, versionId: text, etag: text, list: bytes }),
)

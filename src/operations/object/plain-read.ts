/** The response to a read of a whole object where neither request, bucket nor version ask for more than its bytes. */
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Bucket } from '../../model/bucket.ts'
import type { ObjectHandle } from '../../store/objects/objects.ts'
import type { OperationResponse } from '../operation.ts'
import { checksumHeaders, describe, isLocked } from './attributes.ts'
import { bodyOf } from './GetObject.ts'

/** An object and its bucket, read together. Its bytes stay until the handle is closed. */
export interface OpenedObject {
  readonly bucket: Bucket
  readonly handle: ObjectHandle
}

/** No bucket policy, lifecycle rule, lock or charge takes part. */
export const isPlain = ({ bucket, handle }: OpenedObject): boolean =>
  !bucket.requesterPays &&
  !bucket.documents.includes('policy') &&
  !bucket.documents.includes('lifecycle') &&
  !isLocked(handle.version)

interface PlainReadInput {
  readonly isHead: boolean
  readonly wantsChecksum: boolean
  /** Up to this length a body is read as a whole; undefined for the length of short ones. */
  readonly wholeBytesMax: number | undefined
}

/** Closes the handle, or lets the body close it. */
export function plainRead(
  { bucket, handle }: OpenedObject,
  { isHead, wantsChecksum, wholeBytesMax }: PlainReadInput,
): MaybePromise<OperationResponse> {
  const { version } = handle
  const { size: length } = version
  const headers = describe(version, bucket.versioning !== 'off')
  if (wantsChecksum) headers.push(...checksumHeaders(version))
  if (isHead) {
    handle.close()
    headers.push(['content-length', length])
    return { status: 200, headers }
  }
  const body = bodyOf(handle, 0, length, wholeBytesMax)
  return body instanceof Promise
    ? body.then(read => ({ status: 200, headers, body: read, length }))
    : { status: 200, headers, body, length }
}

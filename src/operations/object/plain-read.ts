/** The response to a read of a whole object where neither request, bucket nor version ask for more than its bytes. */
import type { Bucket } from '../../model/bucket.ts'
import type { ObjectHandle } from '../../store/objects/objects.ts'
import type { Header } from '../context.ts'
import { checksumHeaders, describe, isLocked } from './attributes.ts'
import { bodyOf } from './GetObject.ts'

/** An object and its bucket, read together. Its bytes stay until the handle is closed. */
export interface OpenedObject {
  readonly bucket: Bucket
  readonly handle: ObjectHandle
  /** The version was read before and is kept in memory, so that what follows from it is worth keeping as well. */
  readonly isKept: boolean
}

/** No bucket policy, lifecycle rule, lock or charge takes part. */
export const isPlain = ({ bucket, handle }: OpenedObject): boolean =>
  !bucket.requesterPays &&
  !bucket.documents.includes('policy') &&
  !bucket.documents.includes('lifecycle') &&
  !isLocked(handle.version)

/** The headers of the response, also to a HEAD. */
export function plainHeaders({ bucket, handle }: OpenedObject, wantsChecksum: boolean): Header[] {
  const { version } = handle
  const headers = describe(version, bucket.versioning !== 'off')
  if (wantsChecksum) headers.push(...checksumHeaders(version))
  headers.push(['content-length', version.size])
  return headers
}

/** Read as a whole up to a length; by default if it is short. Closes the handle, or lets the body close it. */
export const plainBody = ({ handle }: OpenedObject, wholeBytesMax: number | undefined): ReturnType<typeof bodyOf> =>
  bodyOf(handle, 0, handle.version.size, wholeBytesMax)

/** Copies and moves an object by reference, with what a copy does not take from its source by itself. */
import { ApiFailure } from '../api/failure.ts'
import type { ObjectDetails } from '../objects/details.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { send, sendForXml } from '../objects/request.ts'
import { renameTexts as t } from '../texts/copies.ts'
import { confirmedEtag } from './confirmed-etag.ts'
import { attributeHeaders, type CopyOrder, descriptionHeaders, sourceHeaders } from './copy-order.ts'
import { copyInParts } from './multipart-copy.ts'

/** The server refuses to copy more at once. */
const COPY_BYTES_MAX = 5 * 2 ** 30

/** Returns the ETag of the copy. */
export async function copyObject(order: CopyOrder): Promise<string> {
  order.signal?.throwIfAborted()
  if (order.source.size > COPY_BYTES_MAX) return copyInParts(order)
  const { to, described, isNew } = order
  const headers = {
    ...sourceHeaders(order),
    ...attributeHeaders(order),
    ...(described === undefined ? {} : { 'x-amz-metadata-directive': 'REPLACE', ...descriptionHeaders(described) }),
    ...(isNew ? { 'if-none-match': '*' } : {}),
  }
  return confirmedEtag(await sendForXml({ method: 'PUT', ...to, headers }))
}

/** The answer to an earlier attempt was lost, or somebody else deleted it. */
const isGone = (error: unknown): boolean => error instanceof ApiFailure && error.code === 'NoSuchKey'

/** Deletes the source of a copy that is there, but not an object that replaced it meanwhile. */
export async function deleteCopied({ bucket, key }: ObjectPlace, source: ObjectDetails): Promise<void> {
  const headers = {
    'if-match': source.etag,
    'x-amz-if-match-last-modified-time': source.modifiedAt.toUTCString(),
  }
  try {
    await send({ method: 'DELETE', bucket, key, headers })
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

/** Two objects are there now, which the refusal of the second request does not tell by itself. */
export class CopiedOnly extends Error {}

/** The old name goes only after the new one is there. */
export async function moveObject(order: CopyOrder): Promise<void> {
  await copyObject(order)
  try {
    await deleteCopied(order.from, order.source)
  } catch (cause) {
    throw new CopiedOnly(t.copiedOnly, { cause })
  }
}

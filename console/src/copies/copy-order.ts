/** One copy: its source, its target, and the headers that say so. */
import type { Grant } from '../access/acl-document.ts'
import type { ObjectDetails } from '../objects/details.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { grantHeaders } from './grant-headers.ts'

/** Pairs of header names and values, and of user metadata without its prefix. */
export interface Description {
  readonly headers: readonly (readonly [string, string])[]
  readonly metadata: readonly (readonly [string, string])[]
}

export interface CopyOrder {
  readonly from: ObjectPlace
  readonly to: { readonly bucket: string; readonly key: string }
  /** The state that is copied: if the object has another one by then, nothing is done. */
  readonly source: ObjectDetails
  /** Of the copy; without any it is private to its owner. */
  readonly grants?: readonly Grant[]
  /** Instead of the description of the source. */
  readonly described?: Description
  /** Refuses to replace an object that is there. */
  readonly isNew?: boolean
  /** No request is begun after it is aborted; those on their way are not cut off. */
  readonly signal?: AbortSignal
}

/** Copies of one part have the same source and condition as a whole one. */
export function sourceHeaders({ from, source }: CopyOrder): Record<string, string> {
  const version = from.versionId === undefined ? '' : `?versionId=${encodeURIComponent(from.versionId)}`
  return {
    'x-amz-copy-source': `/${from.bucket}/${from.key.split('/').map(encodeURIComponent).join('/')}${version}`,
    'x-amz-copy-source-if-match': source.etag,
  }
}

/** Headers of the request that creates the copy; the signature covers all, so that other than ASCII passes. */
export const attributeHeaders = ({ source, grants = [] }: CopyOrder): Record<string, string> => ({
  ...source.carried,
  ...grantHeaders(grants),
})

export function descriptionHeaders({ headers, metadata }: Description): Record<string, string> {
  return Object.fromEntries([...headers, ...metadata.map(([name, value]) => [`x-amz-meta-${name}`, value] as const)])
}

/** Renames or copies one object, after what speaks against it was told. */
import { exists } from '../objects/changes.ts'
import { isLocked, objectDetails } from '../objects/details.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { renameTexts as t } from '../texts/copies.ts'
import { copyObject, moveObject } from './copy-object.ts'
import { keptAcl } from './kept-acl.ts'

export type Act = 'rename' | 'copy'

export interface Renaming {
  readonly act: Act
  readonly from: ObjectPlace
  readonly to: { readonly bucket: string; readonly key: string }
  /** Only of copies: a rename always keeps the grants if it can. */
  readonly withAcl: boolean
  /** Texts of objections that were read and count no more. */
  readonly accepted: readonly string[]
}

export interface Objections {
  readonly isThere: boolean
  readonly texts: readonly string[]
}

/** Resolves to undefined once it is done. Where something speaks against it, nothing was changed. */
export async function renameOrCopy({ act, from, to, withAcl, accepted }: Renaming): Promise<Objections | undefined> {
  const source = await objectDetails(from.bucket, from.key, from.versionId)
  const carriesAcl = act === 'rename' || withAcl
  const acl = carriesAcl ? await keptAcl(from, to, new AbortController().signal) : undefined
  const isThere = await exists(to.bucket, to.key)
  const isLeft = act === 'rename' && isLocked(source)
  const texts = [isThere && t.exists, isLeft && t.locked, acl?.loss].filter(text => typeof text === 'string')
  if (texts.some(text => !accepted.includes(text))) return { isThere, texts }
  // Only a person who read that an object is there replaces one.
  const order = { from, to, source, grants: acl?.grants ?? [], isNew: !accepted.includes(t.exists) }
  await (act === 'rename' ? moveObject : copyObject)(order)
  return undefined
}

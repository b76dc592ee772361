import { Fault } from '../model/faults.ts'
import { headerName } from './access/names.ts'

/** Entity tags without quotes, or `*`. */
export interface Precondition {
  readonly ifMatch: readonly string[] | undefined
  readonly ifNoneMatch: readonly string[] | undefined
}

/** Conditions, besides the ETag, that a delete may place on the version it would hide or remove. */
export interface RemovalPrecondition extends Precondition {
  readonly ifSize?: number | undefined
  readonly ifModifiedAt?: number | undefined
}

export const ALWAYS: Precondition = { ifMatch: undefined, ifNoneMatch: undefined }

const matches = (tags: readonly string[], etag: string): boolean => tags.includes('*') || tags.includes(etag)

/** R92–R94, D3. Both conditions are checked, If-Match first; `etag` is the current object's, if there is one. */
export function checkPrecondition(want: Precondition, etag: string | undefined): void {
  if (want.ifMatch !== undefined && (etag === undefined || !matches(want.ifMatch, etag))) {
    throw new Fault('PreconditionFailed', { Condition: 'If-Match', exists: etag !== undefined })
  }
  if (want.ifNoneMatch !== undefined && etag !== undefined && matches(want.ifNoneMatch, etag)) {
    throw new Fault('PreconditionFailed', { Condition: 'If-None-Match', ETag: etag, exists: true })
  }
}

/** HTTP dates have no milliseconds: a date without them matches the whole second. */
const isSameTime = (wanted: number, actual: number): boolean =>
  wanted === (wanted % 1000 === 0 ? actual - (actual % 1000) : actual)

/** As S3 documents it: size and date conditions do not apply to a missing object, whose delete succeeds. */
export function checkRemoval(
  want: RemovalPrecondition,
  version: { readonly etag: string; readonly size: number; readonly modifiedAt: number } | undefined,
): void {
  checkPrecondition(want, version?.etag)
  if (version === undefined) return
  const failed = (name: string): Fault => new Fault('PreconditionFailed', { Condition: headerName(name), exists: true })
  if (want.ifSize !== undefined && want.ifSize !== version.size) throw failed('if-match-size')
  if (want.ifModifiedAt !== undefined && !isSameTime(want.ifModifiedAt, version.modifiedAt)) {
    throw failed('if-match-last-modified-time')
  }
}

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

/**
 * R92–R94, D3. Both conditions are looked at, If-Match first; `etag` is that of the current object, if there is one.
 */
export function checkPrecondition(want: Precondition, etag: string | undefined): void {
  if (want.ifMatch !== undefined && (etag === undefined || !matches(want.ifMatch, etag))) {
    throw new Fault('PreconditionFailed', { Condition: 'If-Match', exists: etag !== undefined })
  }
  if (want.ifNoneMatch !== undefined && etag !== undefined && matches(want.ifNoneMatch, etag)) {
    throw new Fault('PreconditionFailed', { Condition: 'If-None-Match', ETag: etag, exists: true })
  }
}

/** Dates in headers have no milliseconds: one that says none means the whole second. */
const isSameTime = (said: number, is: number): boolean => said === (said % 1000 === 0 ? is - (is % 1000) : is)

/** As S3 documents it: what is not there has no size and no date, and its delete succeeds. */
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

/** Conditional reads: GET, HEAD and the source of a copy. `precondition.ts` has the conditions on writes. */
import { Fault } from '../model/faults.ts'
import { headerName } from './access/names.ts'
import { parseEtags } from './etag.ts'
import { parseHttpDate } from './http-date.ts'

/** Header values as sent; undefined where the header is absent. */
export interface ReadConditions {
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly ifModifiedSince: string | undefined
  readonly ifUnmodifiedSince: string | undefined
}

/** Validators of the stored object: its ETag without quotes, and when it was written. */
export interface Validators {
  readonly etag: string
  readonly modifiedAt: number
}

type ConditionName = 'If-Match' | 'If-None-Match' | 'If-Modified-Since' | 'If-Unmodified-Since'

const matches = (tags: readonly string[], etag: string): boolean => tags.includes('*') || tags.includes(etag)

/** HTTP dates have whole seconds and records have milliseconds: compared directly, a fresh object is always newer. */
const inSeconds = (ms: number): number => Math.floor(ms / 1000)

/**
 * G11. The first condition that fails, if any. If-Match takes precedence over If-Unmodified-Since, and
 * If-None-Match over If-Modified-Since, since an ETag is more precise than a date. An invalid date is ignored.
 */
function failedCondition(want: ReadConditions, is: Validators): ConditionName | undefined {
  const modified = inSeconds(is.modifiedAt)
  if (want.ifMatch !== undefined) {
    if (!matches(parseEtags(want.ifMatch, 'strong'), is.etag)) return 'If-Match'
  } else if (want.ifUnmodifiedSince !== undefined) {
    const since = parseHttpDate(want.ifUnmodifiedSince)
    if (since !== undefined && modified > inSeconds(since)) return 'If-Unmodified-Since'
  }
  if (want.ifNoneMatch !== undefined) {
    if (matches(parseEtags(want.ifNoneMatch, 'weak'), is.etag)) return 'If-None-Match'
  } else if (want.ifModifiedSince !== undefined) {
    const since = parseHttpDate(want.ifModifiedSince)
    if (since !== undefined && modified <= inSeconds(since)) return 'If-Modified-Since'
  }
  return undefined
}

/** G11. For GET and HEAD: `known` means that the client's copy is current (304); a failed match is a 412. */
export function checkRead(want: ReadConditions, is: Validators): 'known' | 'wanted' {
  const failed = failedCondition(want, is)
  if (failed === undefined) return 'wanted'
  if (failed === 'If-None-Match' || failed === 'If-Modified-Since') return 'known'
  throw new Fault('PreconditionFailed', { Condition: failed })
}

/**
 * R49. For the source of a copy every failed condition is a 412. The conditions come from the `copy-source-` headers.
 */
export function checkCopySource(want: ReadConditions, source: Validators): void {
  const failed = failedCondition(want, source)
  if (failed !== undefined) throw new Fault('PreconditionFailed', { Condition: headerName(`copy-source-${failed}`) })
}

/** G11. A Range applies despite If-Range only when the client's partial copy is of this very object. */
export function rangeApplies(ifRange: string | undefined, is: Validators): boolean {
  if (ifRange === undefined) return true
  const since = parseHttpDate(ifRange)
  if (since !== undefined) return inSeconds(since) === inSeconds(is.modifiedAt)
  return parseEtags(ifRange, 'strong').includes(is.etag)
}

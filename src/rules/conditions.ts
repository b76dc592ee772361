/** Conditions on what is read: by GET and HEAD, and by a copy of its source. Those on writes: see precondition.ts. */
import { Fault } from '../model/faults.ts'
import { headerName } from './access/names.ts'
import { parseEtags } from './etag.ts'
import { parseHttpDate } from './http-date.ts'

/** Headers as sent; undefined where there was none. */
export interface ReadConditions {
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly ifModifiedSince: string | undefined
  readonly ifUnmodifiedSince: string | undefined
}

/** What is there: a bare tag, and when it was written. */
export interface Validators {
  readonly etag: string
  readonly modifiedAt: number
}

type ConditionName = 'If-Match' | 'If-None-Match' | 'If-Modified-Since' | 'If-Unmodified-Since'

const matches = (tags: readonly string[], etag: string): boolean => tags.includes('*') || tags.includes(etag)

/** Headers have whole seconds, records have milliseconds: without this, what was just written is always newer. */
const inSeconds = (ms: number): number => Math.floor(ms / 1000)

/**
 * G11. The condition that does not hold, if one does not. A true If-Match outweighs If-Unmodified-Since, and
 * If-None-Match outweighs If-Modified-Since: tags know more than clocks. A date that is none is no condition.
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

/** G11. GET and HEAD: `known` is what the client has already; 412 for what is no longer what it thinks. */
export function checkRead(want: ReadConditions, is: Validators): 'known' | 'wanted' {
  const failed = failedCondition(want, is)
  if (failed === undefined) return 'wanted'
  if (failed === 'If-None-Match' || failed === 'If-Modified-Since') return 'known'
  throw new Fault('PreconditionFailed', { Condition: failed })
}

/** R49. The source of a copy: 412 in every case. The conditions are those of the `copy-source-` headers. */
export function checkCopySource(want: ReadConditions, source: Validators): void {
  const failed = failedCondition(want, source)
  if (failed !== undefined) throw new Fault('PreconditionFailed', { Condition: headerName(`copy-source-${failed}`) })
}

/** G11. Whether a Range applies in spite of If-Range: only when the client's piece is of this very object. */
export function rangeApplies(ifRange: string | undefined, is: Validators): boolean {
  if (ifRange === undefined) return true
  const since = parseHttpDate(ifRange)
  if (since !== undefined) return inSeconds(since) === inSeconds(is.modifiedAt)
  return parseEtags(ifRange, 'strong').includes(is.etag)
}

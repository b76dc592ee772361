/** Conditional requests: entity tags, and the conditions on reads, copy sources, writes and deletes. */
import { Fault } from '../model/faults.ts'
import { headerName } from './access/names.ts'
import { parseHttpDate } from './http-date.ts'

/** One list member and the comma or end after it. Inside quotes a comma belongs to the tag. */
const MEMBER = /[ \t]*(?:(W\/)?"([^"]*)"|([^,]*))[ \t]*(?:,|$)/y

/**
 * Parses If-Match or If-None-Match; `*` stands for itself. Quotes are optional, since many clients omit them. Only a
 * proxy makes our tags weak; a weak tag may save a transfer but must not permit a change, so a `strong` comparison
 * keeps it as written, where it equals nothing.
 */
export function parseEtags(header: string, comparison: 'strong' | 'weak'): string[] {
  const tags: string[] = []
  let at = 0
  while (at < header.length) {
    MEMBER.lastIndex = at
    const [, weak, quoted, bare] = MEMBER.exec(header)!
    at = MEMBER.lastIndex
    if (quoted === undefined) {
      const trimmed = bare!.trim()
      if (trimmed !== '') tags.push(trimmed)
    } else {
      tags.push(weak !== undefined && comparison === 'strong' ? `W/"${quoted}"` : quoted)
    }
  }
  return tags
}

/** Strips the optional quotes from a tag in a request document (R75). */
export function bareEtag(text: string): string {
  const trimmed = text.trim()
  return trimmed.length >= 2 && trimmed.startsWith('"') && trimmed.endsWith('"') ? trimmed.slice(1, -1) : trimmed
}

/** R16. */
export const quotedEtag = (etag: string): string => `"${etag}"`

/** Header values as sent; undefined where the header is absent. */
export interface ReadConditions {
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly ifModifiedSince: string | undefined
  readonly ifUnmodifiedSince: string | undefined
}

/** Validators of the stored object: its ETag without quotes, and when it was written. */
interface Validators {
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

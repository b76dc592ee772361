import { Fault } from '../model/faults.ts'

/** Entity tags without quotes, or `*`. */
export interface Precondition {
  readonly ifMatch: readonly string[] | undefined
  readonly ifNoneMatch: readonly string[] | undefined
}

export const ALWAYS: Precondition = { ifMatch: undefined, ifNoneMatch: undefined }

const matches = (tags: readonly string[], etag: string): boolean => tags.includes('*') || tags.includes(etag)

/** R92–R94. Both conditions are looked at, If-Match first; `etag` is that of the current object, if there is one. */
export function checkPrecondition(want: Precondition, etag: string | undefined): void {
  if (want.ifMatch !== undefined && (etag === undefined || !matches(want.ifMatch, etag))) {
    throw new Fault('PreconditionFailed', { Condition: 'If-Match', exists: etag !== undefined })
  }
  if (want.ifNoneMatch !== undefined && etag !== undefined && matches(want.ifNoneMatch, etag)) {
    throw new Fault('PreconditionFailed', { Condition: 'If-None-Match', ETag: etag, exists: true })
  }
}

/** What a bucket's lifecycle rules say about one object or upload, as headers. */
import { lifecycleRules } from '../../rules/documents/lifecycle.ts'
import { formatHttpDate } from '../../rules/http-date.ts'
import {
  abortOf,
  type ExpiringObject,
  expirationOf,
  expirationText,
  type LifecycleRule,
  ruleIdText,
} from '../../rules/lifecycle.ts'
import type { OperationScope } from '../context.ts'
import type { Header } from '../operation.ts'

export const hasLifecycle = ({ bucket }: OperationScope): boolean => bucket.documents.includes('lifecycle')

/** Rules of the bucket; none when it has none. That they cannot be read is no reason to refuse what they are about. */
async function rulesOf(ctx: OperationScope): Promise<readonly LifecycleRule[]> {
  if (!hasLifecycle(ctx)) return []
  const { bucket, store } = ctx
  try {
    const text = await store.documents.get(bucket.name, 'lifecycle')
    return text === undefined ? [] : lifecycleRules(text)
  } catch (error) {
    ctx.reportDamage(new Error(`the lifecycle rules of bucket ${bucket.name} cannot be read: ${error}`))
    return []
  }
}

/** R89. */
export async function expirationHeaders(ctx: OperationScope, of: ExpiringObject): Promise<Header[]> {
  const due = expirationOf(await rulesOf(ctx), of)
  return due === undefined ? [] : [[':expiration', expirationText(due)]]
}

/** R67. */
export async function abortHeaders(ctx: OperationScope, key: string, initiatedAt: number): Promise<Header[]> {
  const due = abortOf(await rulesOf(ctx), key, initiatedAt)
  if (due === undefined) return []
  return [
    [':abort-date', formatHttpDate(due.at)],
    [':abort-rule-id', ruleIdText(due.ruleId)],
  ]
}
